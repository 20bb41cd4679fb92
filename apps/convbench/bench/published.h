// The figures that published studies printed, for tables that compare them with today's. They are in published.csv,
// which is compiled in.
//
// Study A: Sun Yat-sen University, parallel programming course, laboratory 11 (Quadro M4000, CUDA 10.2, cuDNN 7.6.5).
// Study B: Huazhong Agricultural University, high performance computing report on implicit GEMM (Tesla V100, CUDA
// 10.2). Study C: Sun Yat-sen University, laboratory 11, another report (GeForce GTX 1050, CUDA 12.9).
// Studies D (an article on LeNet in CUDA) and E (D. Kirk, W. Hwu, "Programming Massively Parallel Processors", chapter
// 7) describe what to measure, but print no comparable figures.
#pragma once

#include <optional>
#include <string>

#include "apps/common/results/result_file.h"

namespace lenslet {

/// One cell of a study's table; empty if the study printed none.
///
///   table           of study                 variant                      setting
///   rgb             A, tables 1, 2, 5 and 6  backend                      stride; the number of filters is not stated
///   gemm_memory     A, table 3               global, shared, register     tile
///   gemm_partition  A, table 4               row, column, element         block; "element" with 64 never ran
///   implicit_gemm   B                        rung, such as 04_block_128   "C32 K128", channels and filters
///   filter          C                        direct, im2col_gemm, cudnn   stride; copies and launches included
std::optional<PublishedFigure> published_figure(const std::string& table, const std::string& variant,
                                                int size, const std::string& setting);

}  // namespace lenslet
