// lenslet show: a page with everything that a network does with one picture.
#include <nlohmann/json.hpp>

#include "apps/common/output/output.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/pages/network_json.h"
#include "apps/lenslet/pages/page.h"
#include "apps/lenslet/pages/picture_page.h"
#include "apps/lenslet/pages/still_page.h"
#include "apps/lenslet/session/session.h"
#include "framework/io/picture.h"

namespace lenslet {

ExitCode run_show(const ShowOptions& given) {
  ShowOptions options = given;
  if (options.weights_file().empty()) options.weights = kRobustWeights;
  const std::string& file = options.inputs.at(0);
  std::vector<NamedFile> read = files_read(options);
  if (!options.labels.empty()) read.emplace_back("--labels", options.labels);
  read.emplace_back("the picture", file);
  Console console({{"--html", options.html}}, read);
  const Session session(options, console, chosen_normalisation(options));
  PicturePage picture_page(session, options);
  const Picture picture = read_picture(file, options.picture_limits);
  const nlohmann::ordered_json page = still_page(picture_page, picture, file, options.batch_size.value_or(1),
                                                 measure_ceilings(session.device()));
  write_result(options.html, page_html(page_text(page)));
  console.line(describe_page(page, file, session));
  if (options.html != "-") console.line("open " + options.html + " in a browser");
  return ExitCode::kOk;
}

}  // namespace lenslet
