#include "apps/lenslet/pages/still_page.h"

#include <nlohmann/json.hpp>

#include "apps/common/output/text.h"
#include "apps/lenslet/pages/page.h"
#include "apps/lenslet/pages/pass_profile.h"
#include "framework/base/text.h"

namespace lenslet {

nlohmann::ordered_json still_page(PicturePage& picture_page, const Picture& picture, const std::string& name,
                                  int64_t batch, const Ceilings& ceilings) {
  check_shown_batch(batch);
  nlohmann::ordered_json page = {{"schema", kPageSchema}, {"live", false}};
  page["network"] = picture_page.network();
  page["look"] = picture_page.look(picture, name);
  page["profile"] = pass_profile(picture_page, "", batch, ceilings);
  return page;
}

std::string describe_page(const nlohmann::ordered_json& page, const std::string& name,
                          const Session& session) {
  const nlohmann::ordered_json& number = page.at("look").at("answer").at("number");
  const std::string read = number.is_string() ? number.get<std::string>() : "";
  return concat(printable(name), ": ", read.empty() ? "see the page" : read, ", ", session.network().title(),
                " on ", session.describe_device());
}

}  // namespace lenslet
