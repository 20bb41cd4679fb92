// lenslet show: a page with everything that a network does with one picture.
#include <nlohmann/json.hpp>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/session.h"
#include "apps/lenslet/show/layer_times.h"
#include "apps/lenslet/show/looker.h"
#include "apps/lenslet/show/network_json.h"
#include "apps/lenslet/show/page.h"
#include "framework/io/file.h"

namespace lenslet {

ExitCode run_show(const ShowOptions& given) {
  ShowOptions options = given;
  if (options.weights_file().empty()) options.weights = kRobustWeights;
  const std::string& file = options.inputs.at(0);
  std::vector<NamedFile> read = files_read(options);
  if (!options.labels.empty()) read.emplace_back("--labels", options.labels);
  read.emplace_back("the picture", file);
  Console console({{"--html", options.html}}, read);
  const Session session(options);
  Looker looker(session, options);
  const std::vector<uint8_t> picture = read_file(file, options.image_limits.max_file_bytes);
  nlohmann::ordered_json page = {{"schema", "lenslet.page/1"}, {"live", false}};
  page["network"] = looker.network();
  page["look"] = looker.look(picture, file);
  page["profile"] = LayerTimes(looker).profile("", options.batch_size.value_or(1));
  write_result(options.html, page_html(page_text(page)));
  const nlohmann::ordered_json& answer = page["look"]["answer"];
  const std::string number = answer["number"].is_string() ? answer["number"].get<std::string>() : "";
  console.line(concat(printable(file), ": ", number.empty() ? "see the page" : number, ", ",
                      session.network().title(), " on ", session.describe_device()));
  if (options.html != "-") console.line("open " + options.html + " in a browser");
  return ExitCode::kOk;
}

}  // namespace lenslet
