// lenslet eval in several processes: each evaluates its share of the images, rank 0 has the results of all.
#pragma once

#include "apps/common/ranks/ranks.h"
#include "apps/lenslet/eval/eval_output.h"
#include "models/digit/image_dataset.h"

namespace lenslet {

/// The range of this rank in the first `count` images: whole tasks of evaluate(), so that the loss is summed as in one
/// process.
RankRange eval_range(const Ranks& ranks, int64_t count);

/// Keeps only these images.
void keep_range(ImageDataset& data, RankRange range);

/// What this rank may print and write: rank 0 all, another one nothing. Redirects the standard output of that one.
EvalOptions options_of_rank(const Ranks& ranks, const EvalOptions& options);

/// Combines the outcomes of all ranks, with the logits if rank 0 writes them: rank 0 gets that of all images, in order.
/// The rate is that of the slowest rank, since all compute at the same time.
void join_outcomes(Ranks& ranks, const EvalOptions& options, const Session& session, RankRange range,
                   EvalOutcome& outcome);

}  // namespace lenslet
