// The subcommands of convbench, one file each.
#pragma once

#include "apps/convbench/session/options.h"
#include "apps/convbench/session/session.h"
#include "framework/base/error.h"

namespace lenslet {

/// Any problems on any backends.
ExitCode run_run(const RunOptions& options);
/// Sizes x strides x backends for one RGB image: the convolutions of study A.
ExitCode run_sweep(const SweepOptions& options);
void sweep_into(const SweepOptions& options, BenchSession& session);
/// How the speed of a kernel rises rung by rung: the studies' rungs and our own.
ExitCode run_ladder(const LadderOptions& options);
void ladder_into(const LadderOptions& options, BenchSession& session);
/// A picture through a filter, on every backend.
ExitCode run_filter(const FilterOptions& options);
/// A batch with copies and compute on one stream, and on several.
ExitCode run_streams(const StreamsOptions& options);
void streams_into(const StreamsOptions& options, BenchSession& session);
/// A depthwise-separable block against the standard convolution it replaces.
ExitCode run_separable(const SeparableOptions& options);
void separable_into(const SeparableOptions& options, BenchSession& session);
/// The matrix product of im2col by memory mode and by partition: tables 3 and 4 of study A.
ExitCode run_gemm_study(const GemmStudyOptions& options);
void gemm_study_into(const GemmStudyOptions& options, BenchSession& session);
/// 1D and 2D convolution with one filter: study E.
ExitCode run_stencil(const StencilOptions& options);
void stencil_into(const StencilOptions& options, BenchSession& session);
/// The published studies beside today's measurements.
ExitCode run_reproduce(const ReproduceOptions& options);

}  // namespace lenslet
