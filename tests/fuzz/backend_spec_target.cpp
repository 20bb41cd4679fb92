// The values of --backend, resolved against a small graph.
#include "framework/graph/backend_spec.h"

#include "tests/framework/toy_layers.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(backend_spec) {
  static const Graph graph = toys::diamond();
  const std::string text = text_of(data, size);
  BackendSpec spec;
  if (!accepts("", [&] { spec = BackendSpec::parse(text); })) return;
  for (const DeviceKind kind : kDeviceKinds) {
    std::vector<const BackendEntry*> chosen;
    if (!accepts("", [&] { chosen = spec.resolve(graph, kind); })) continue;
    for (size_t i = 0; i < chosen.size(); ++i) {
      check(!chosen[i] || graph.nodes()[i].layer->find_backend(chosen[i]->name(), kind) == chosen[i],
            "a spec names backends that the layer has: " + graph.nodes()[i].name);
    }
  }
}

LENSLET_FUZZ_SEEDS(backend_spec) {
  std::vector<Bytes> seeds;
  for (const char* text :
       {"plain", "auto", "a=plain,b=staged", "*=refusing", "a=plain,*=auto,a=staged", "a=", "=plain", "a=b=c",
        "relu=plain", "zz=plain", "plain,,staged", "", ",", "a=plane", "pluin"})
    seeds.push_back(test::bytes_of(text));
  return seeds;
}
