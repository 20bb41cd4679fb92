// Problem strings, single and in lists: the first byte decides which. A list that names a file by --batch gets itself.
#include <cmath>
#include <cstdint>

#include "layers/conv/conv_problem.h"
#include "layers/conv/conv_problem_list.h"
#include "layers/conv/conv_registry.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

namespace lenslet::fuzz {
namespace {

void check_problem(const Conv2dProblem& problem) {
  problem.check();
  check(problem.pad_h + int64_t{problem.more_pad_h} >= -int64_t{problem.stride_h} &&
            problem.pad_w + int64_t{problem.more_pad_w} >= -int64_t{problem.stride_w},
        "the output leaves out at most a stride of inputs");
  check(problem.p() >= 1 && problem.q() >= 1, "an accepted problem has an output");
  for (const Shape& shape : {problem.input_shape(), problem.weight_shape(), problem.output_shape()})
    check(shape.num_elements() >= 1 && shape.num_elements() <= INT32_MAX,
          "tensors of 1 to 2^31 - 1 elements");
  check(std::isfinite(problem.flops()) && problem.flops() >= 2, "its work is a number");
  check(std::isfinite(problem.bytes()) && problem.bytes() >= 10, "its traffic is a number");
  const std::string text = problem.to_string();
  Conv2dProblem again = Conv2dProblem::parse(text);
  again.type = problem.type;  // which a list gives, not the text
  check(again == problem && again.name == problem.name, "written and read again it is the same: " + text);
  check(again.to_string() == text, "the text of a problem is unique: " + text);
  for (const ConvBackendEntry& entry : conv_backend_entries(DeviceKind::kCpu)) {
    if (entry.kind() != ConvBackendEntry::Kind::kBuiltIn || !entry.supports(problem, MathMode::kFp32))
      continue;
    const size_t bytes = entry.open().workspace_bytes(problem, MathMode::kFp32);
    check(bytes <= INT64_MAX, entry.name() + " can say its workspace for " + text);
  }
}

void check_listed(const ListedProblem& listed) {
  check(!listed.text.empty(), "a listed problem has a text");
  if (listed.unsupported.empty()) {
    check(listed.text == listed.problem.to_string(), "the text of a problem is canonical: " + listed.text);
    check_problem(listed.problem);
  } else {
    check_message(listed.unsupported, {});
  }
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(problem) {
  Cursor input(data, size);
  const bool list = input.byte() % 2 == 1;
  const std::string text = text_of(input.data(), input.size());
  std::vector<ListedProblem> problems;
  const auto read = [&] {
    if (list) {
      problems = parse_problem_list(text, "list", [&](const std::string&) { return text; });
    } else {
      problems = {listed_problem(text)};
    }
  };
  if (!accepts(list ? "list:" : "", read)) return;
  check(problems.size() <= 10'000, "a list has at most 10,000 problems");
  for (const ListedProblem& listed : problems) check_listed(listed);
}

LENSLET_FUZZ_SEEDS(problem) {
  std::vector<Bytes> seeds;
  for (const char* text :
       {"0mb1ic1ih28oc6oh24kh5n\"conv1\"",
        "0ic6ih12oc16kh5",
        "0g32mb1ic32ih112oc32oh112kh3ph1ndw",
        "0mb8ic64ih128iw130oc128kh3kw5sh2sw1ph1pw2dh1dw0nall",
        "0ic1ih2147483647oc1kh1",
        "0ic1ih5oc1kh3dh2147483647",
        "0ic3ih256oc3oh255kh3ph1",
        "0ic1ih1iw2147483647oc1kh2147483647kw1ph1073741823pw0",
        "0ic1ih1iw1oc1kh1073741823kw1ph536870911pw1073741823",
        "0mb2147483647ic1ih1oc1kh1",
        "0ic1ih5oc1kh3ph2147483647",
        "0g3ic4ih5oc3kh3",
        "0ic1ih5oc1kh0x10",
        "0n",
        "0n\"\"",
        "0ic3id5oc4kd3n\"3-D\"",
        "0g2_ic4oc4_iw9ow5kw3sw2_n\"1-D: a #1\"",
        "0ic3ih2147483647oc3oh2147483647kh2147483647sh2147483647dh2147483647",
        "1--reset --dt=f32,bf16 --mb=2,0 \\\n ic1ih9oc2kh3 # two\n--dir=BWD_D ic1ih9oc2kh3\n--batch=f",
        "1# heading\n\n  ic1ih28oc6kh5  # conv1\r\nic6ih12oc16kh5",
        "1ic1ih28oc6kh5\nic1ih28oc6kh55\n"})
    seeds.push_back(test::bytes_of(text));
  return seeds;
}
