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
  const nlohmann::ordered_json& answer = page.at("look").at("answer");
  const auto text = [&answer](const char* key) {
    const auto found = answer.find(key);
    return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string number = text("number"), reason = text("reason");
  const std::string read = !number.empty() ? number : !reason.empty() ? reason : "see the page";
  return concat(printable(name), ": ", read, ", ", session.network().title(), " on ",
                session.describe_device());
}

}  // namespace lenslet
