// The tuner's choice among candidates with times set by the test, and the resulting plan.
#include "framework/execution/tuner.h"

#include <gtest/gtest.h>

#include "framework/execution/executable.h"
#include "framework/measuring/row_status.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

TimeStats around(double median, double spread = 0) {
  return {20, median - 2 * spread, median - spread, median, median + spread, median + 2 * spread};
}

/// The diamond's candidates: a (refusing, plain+relu, plain, staged), relu, b (the same without relu), out.
struct Diamond {
  Diamond() : graph(toys::diamond()), candidates(tune_candidates(graph, request)) {
    for (TuneCandidate& candidate : candidates) {
      if (candidate.status == row_status::kUnsupported) continue;
      candidate.status = row_status::kPassed;
      candidate.reason.clear();
      candidate.time = around(100);
    }
  }
  TuneCandidate& at(const std::string& node, const std::string& backend, size_t nodes = 1) {
    for (TuneCandidate& candidate : candidates) {
      if (graph.nodes()[candidate.nodes[0]].name == node && candidate.backend == backend &&
          candidate.nodes.size() == nodes) {
        return candidate;
      }
    }
    throw std::logic_error("no candidate " + node + " " + backend);
  }
  /// "a plain+1, b staged, …": the choice, with the number of fused layers.
  std::string choose() {
    choose_candidates(graph, candidates);
    std::string text;
    for (const TuneCandidate& candidate : candidates) {
      if (!candidate.chosen()) continue;
      text += (text.empty() ? "" : ", ") + graph.nodes()[candidate.nodes[0]].name + " " + candidate.backend;
      if (candidate.nodes.size() > 1) text += "+" + std::to_string(candidate.nodes.size() - 1);
    }
    return text;
  }

  Graph graph;
  BuildOptions request;
  std::vector<TuneCandidate> candidates;
};

TEST(Tuner, ListsEveryOperatorAndWhyOneCannotServe) {
  Diamond diamond;
  std::vector<std::string> listed;
  for (const TuneCandidate& candidate : diamond.candidates) {
    listed.push_back(diamond.graph.nodes()[candidate.nodes[0]].name + " " + candidate.backend + " " +
                     std::to_string(candidate.nodes.size()));
  }
  EXPECT_EQ(listed,
            (std::vector<std::string>{"a refusing 1", "a plain 2", "a plain 1", "a staged 1", "relu plain 1",
                                      "b refusing 1", "b plain 1", "b staged 1", "out plain 1"}));
  EXPECT_EQ(diamond.candidates[0].status, row_status::kUnsupported);
  EXPECT_EQ(diamond.candidates[0].reason, "it always refuses");
  EXPECT_EQ(diamond.candidates[1].request.fused.size(), 1u);
  EXPECT_TRUE(diamond.candidates[2].request.fused.empty());
  // a and relu may share an operator; b and out are separate.
  EXPECT_EQ(tune_regions(diamond.candidates),
            (std::vector<std::pair<size_t, size_t>>{{0, 5}, {5, 8}, {8, 9}}));
}

TEST(Tuner, ALayerThatIsGivenItsBackendHasNoOther) {
  Diamond diamond;
  diamond.request.backends = BackendSpec::parse("a=staged");
  const std::vector<TuneCandidate> candidates = tune_candidates(diamond.graph, diamond.request);
  EXPECT_EQ(candidates[0].backend, "staged");
  EXPECT_EQ(candidates[1].nodes[0], 2u);
}

TEST(Tuner, TakesTheFastest) {
  Diamond diamond;
  diamond.at("a", "plain", 2).time = around(100, 1);
  diamond.at("a", "plain").time = around(60, 1);
  diamond.at("a", "staged").time = around(30, 1);
  diamond.at("relu", "plain").time = around(20, 1);
  diamond.at("b", "staged").time = around(50, 1);
  EXPECT_EQ(diamond.choose(), "a staged, relu plain, b staged, out plain");
  EXPECT_EQ(diamond.at("a", "staged").verdict, TuneVerdict::kFastest);
  EXPECT_EQ(diamond.at("a", "plain").verdict, TuneVerdict::kSlower);
  EXPECT_DOUBLE_EQ(diamond.at("a", "plain").behind_ns, 30);
  EXPECT_DOUBLE_EQ(diamond.at("a", "plain", 2).behind_ns, 50);
}

TEST(Tuner, AFusedOperatorCompetesWithAllThatItReplaces) {
  Diamond diamond;
  diamond.at("a", "staged").time = around(50, 1);
  diamond.at("relu", "plain").time = around(55, 1);
  diamond.at("a", "plain", 2).time = around(100, 1);
  EXPECT_EQ(diamond.choose(), "a plain+1, b plain, out plain");
  EXPECT_EQ(diamond.at("relu", "plain").verdict, TuneVerdict::kSlower);
  EXPECT_DOUBLE_EQ(diamond.at("relu", "plain").behind_ns, 5);
}

TEST(Tuner, TiesGoToTheFirstInRank) {
  Diamond diamond;
  diamond.at("b", "plain").time = around(100, 10);
  diamond.at("b", "staged").time = around(85, 10);  // faster, but the bands overlap
  EXPECT_EQ(diamond.choose(), "a plain+1, b plain, out plain");
  EXPECT_EQ(diamond.at("b", "plain").verdict, TuneVerdict::kTiedFirst);
  EXPECT_EQ(diamond.at("b", "staged").verdict, TuneVerdict::kTiedLater);
  EXPECT_DOUBLE_EQ(diamond.at("b", "staged").behind_ns, 0);
  diamond.at("b", "staged").time = around(79, 10);  // now they do not
  EXPECT_EQ(diamond.choose(), "a plain+1, b staged, out plain");
}

TEST(Tuner, ATieIsWithTheFastestAlone) {
  // The second overlaps both others, the first only the second: the first is not tied with the third, the fastest.
  EXPECT_EQ(choose_tied({around(100, 5), around(92, 5), around(84, 5)}), 1u);
  EXPECT_EQ(choose_tied({around(100, 5)}), 0u);
}

TEST(Tuner, ABandEndsATenthFromItsMedian) {
  EXPECT_EQ(choose_tied({around(300, 250), around(100, 90)}), 1u);
  EXPECT_EQ(choose_tied({around(118, 90), around(100, 90)}), 0u);
}

TEST(Tuner, WhatIsWrongNeverWins) {
  Diamond diamond;
  for (const char* status : {row_status::kFailed, row_status::kError, row_status::kSkipped}) {
    diamond.at("b", "staged").time = around(1);
    diamond.at("b", "staged").status = status;
    EXPECT_EQ(diamond.choose(), "a plain+1, b plain, out plain");
    EXPECT_EQ(diamond.at("b", "staged").verdict, TuneVerdict::kNone);
  }
}

TEST(Tuner, WithoutTheReluOnItsOwnOnlyTheFusedOneServes) {
  Diamond diamond;
  diamond.at("relu", "plain").status = row_status::kError;
  diamond.at("a", "staged").time = around(1);
  EXPECT_EQ(diamond.choose(), "a plain+1, b plain, out plain");
  EXPECT_EQ(diamond.at("a", "staged").verdict, TuneVerdict::kIncomplete);
}

TEST(Tuner, NothingLeftIsAnErrorThatNamesEach) {
  Diamond diamond;
  diamond.at("b", "plain").status = row_status::kFailed;
  diamond.at("b", "plain").reason = "wrong by 7";
  diamond.at("b", "staged").status = row_status::kError;
  diamond.at("b", "staged").reason = "the device failed";
  expect_error<UnavailableError>([&] { choose_candidates(diamond.graph, diamond.candidates); },
                                 "layer b: b refusing: it always refuses; b plain: wrong by 7; b staged: the "
                                 "device failed");
}

TEST(Tuner, ThePlanIsReplayedExactly) {
  Diamond diamond;
  diamond.at("b", "staged").time = around(1);
  diamond.choose();
  const Plan tuned = tuned_plan(diamond.graph, diamond.request, diamond.candidates);
  BuildOptions options;
  options.plan = &tuned;
  Executable executable(diamond.graph, options);
  const Plan saved = Plan::from_json(executable.plan().to_json(), "memory");
  ASSERT_EQ(saved.layers.size(), tuned.layers.size());
  for (size_t i = 0; i < saved.layers.size(); ++i) {
    EXPECT_EQ(saved.layers[i].name, tuned.layers[i].name);
    EXPECT_EQ(saved.layers[i].backend, tuned.layers[i].backend);
    EXPECT_EQ(saved.layers[i].fused_into, tuned.layers[i].fused_into);
  }
  EXPECT_EQ(saved.find("relu")->fused_into, "a");
  EXPECT_EQ(saved.find("b")->backend, "staged");
  options.plan = &saved;
  Executable again(diamond.graph, options);
  EXPECT_EQ(again.plan().to_json(), executable.plan().to_json());
}

}  // namespace
}  // namespace lenslet
