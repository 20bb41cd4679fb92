#include "apps/lenslet/matrix_cases.h"

#include <utility>

#include "framework/error.h"

namespace lenslet {
namespace {

/// Layer and backend names, one for each layer that is not left to auto.
using Combination = std::vector<std::pair<std::string, std::string>>;

std::string spec_of(const Combination& combination) {
  std::string spec;
  for (const auto& [layer, backend] : combination)
    spec += concat(spec.empty() ? "" : ",", layer, "=", backend);
  return spec;
}

OperatorRequest request_for(const Session& session, const std::vector<Shape>& shapes, size_t node,
                            size_t workspace_limit) {
  OperatorRequest request;
  request.device = session.device();
  for (const int input : session.graph().nodes()[node].inputs)
    request.inputs.push_back(shapes[static_cast<size_t>(input)]);
  request.output = shapes[node];
  request.math = session.math();
  request.workspace_limit = workspace_limit;
  return request;
}

BuildOptions layered(const Session& session, int64_t batch) {
  BuildOptions build = session.build_options(batch);
  build.execution = Plan::kLayered;
  return build;
}

void add_layered(const Session& session, int64_t batch, std::vector<MatrixCase>& cases,
                 std::vector<MatrixCase>& refused) {
  const BuildOptions build = layered(session, batch);
  std::vector<Combination> combinations(1);
  const std::vector<Graph::Node>& nodes = session.graph().nodes();
  const std::vector<Shape> shapes = session.graph().infer_shapes(batch);
  const DeviceKind kind = session.device().kind;
  const std::vector<const BackendEntry*> requested = build.backends.resolve(session.graph(), kind);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].layer || !nodes[i].layer->uses_math()) continue;
    const OperatorRequest request = request_for(session, shapes, i, build.workspace_limit);
    std::vector<Combination> grown;
    for (const BackendEntry* entry : nodes[i].layer->backend_entries(kind)) {
      if (requested[i] && requested[i] != entry) continue;
      const std::string& backend = entry->name();
      if (const Support support = nodes[i].layer->supports(*entry, request); !support) {
        refused.push_back({spec_of({{nodes[i].name, backend}}), build, support.reason()});
        continue;
      }
      for (Combination combination : combinations) {
        combination.emplace_back(nodes[i].name, backend);
        grown.push_back(std::move(combination));
      }
    }
    if (grown.empty()) {
      throw UnavailableError(concat("no backend serves layer ", nodes[i].name, " in ",
                                    to_string(session.math()), " on ", session.device().to_string()));
    }
    combinations = std::move(grown);
  }
  for (const Combination& combination : combinations) {
    cases.push_back({spec_of(combination), build, ""});
    for (const auto& [layer, backend] : combination) cases.back().build.backends.set(layer, backend);
  }
}

void add_fused(const Session& session, int64_t batch, std::vector<MatrixCase>& cases,
               std::vector<MatrixCase>& refused) {
  const FusedModel& model = *session.graph().fused();
  BuildOptions build = session.build_options(batch);
  build.execution = Plan::kFused;
  for (const std::string& variant : model.variants(session.device().kind)) {
    build.fused_variant = variant;
    for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
      build.math = math;
      for (const ElementType input : {ElementType::kFp32, ElementType::kUint8}) {
        build.input = input;
        const Support support = model.supports(variant, {build.device, batch, math, input, build.output});
        (support ? cases : refused)
            .push_back({concat("fused ", variant, ", ", to_string(input), " in"), build, support.reason()});
      }
    }
  }
}

}  // namespace

std::vector<MatrixCase> matrix_cases(const EvalOptions& options, const Session& session, int64_t batch) {
  std::vector<MatrixCase> cases, refused;
  if (session.math() != MathMode::kFp32) {
    cases.push_back({"auto", layered(session, batch), ""});
    cases.back().build.math = MathMode::kFp32;
    cases.back().build.backends = {};
  }
  const bool fused = options.plan != Plan::kLayered && options.backend.empty() && session.graph().fused();
  try {
    add_layered(session, batch, cases, refused);
  } catch (const UnavailableError& error) {
    if (!fused) throw;
    refused.push_back({"layered", layered(session, batch), error.what()});
  }
  if (fused) add_fused(session, batch, cases, refused);
  cases.insert(cases.end(), refused.begin(), refused.end());
  return cases;
}

}  // namespace lenslet
