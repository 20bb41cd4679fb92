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

#include "apps/common/result_file.h"

namespace lenslet {

/// Study A, tables 1, 2, 5 and 6: one image, C=3, 3x3, padding 1. The study does not state the number of filters.
std::optional<PublishedFigure> published_rgb(const std::string& backend, int size, int stride);
/// Study A, table 3: `memory` "global", "shared" or "register".
std::optional<PublishedFigure> published_gemm_memory(const std::string& memory, int size, int tile);
/// Study A, table 4: `partition` "row", "column" or "element". "element" with block 64 never ran: a block has at most
/// 1024 threads, not 64 x 64, and the study's program did not check the error.
std::optional<PublishedFigure> published_gemm_partition(const std::string& partition, int size, int block);
/// Study B: `rung` "01_shared_tile" or "04_block_128"; the problem by C, H=W and K.
std::optional<PublishedFigure> published_implicit_gemm(const std::string& rung, int channels, int size,
                                                       int filters);
/// Study C: `backend` "direct", "im2col_gemm" or "cudnn", copies and launches included.
std::optional<PublishedFigure> published_filter(const std::string& backend, int size, int stride);

}  // namespace lenslet
