#include "apps/lenslet/serve/pages.h"

#include <nlohmann/json.hpp>

#include "apps/lenslet/pages/network_json.h"
#include "apps/lenslet/pages/page.h"
#include "apps/lenslet/pages/picture_page.h"
#include "apps/lenslet/serve/layer_times.h"
#include "framework/base/error.h"

namespace lenslet::serve {

struct Pages::Made {
  explicit Made(const Engine& engine)
      : picture_page(engine.session(), engine.options()), times(picture_page) {}
  PicturePage picture_page;
  LayerTimes times;
};

Pages::Pages(const Engine& engine) : engine_(engine) {}
Pages::~Pages() = default;

std::string Pages::answer(const PageRequest& request) {
  std::call_once(once_, [this] { made_ = std::make_unique<Made>(engine_); });
  const std::string backends = request.text("backends");
  const int64_t batch = request.whole_number("batch", 1);
  nlohmann::ordered_json json;
  if (request.part == "network") {
    json = made_->picture_page.network();
  } else if (request.part == "look") {
    json = made_->picture_page.look(request.body, "picture", backends, request.whole_number("digit", 0));
  } else if (request.part == "profile") {
    json = made_->times.profile(backends, batch);
  } else if (request.part == "compare") {
    json = made_->times.compare(request.text("layer"), batch);
  } else {
    json = made_->times.tune(batch);
  }
  return page_text(json);
}

std::string home_page() { return page_html(concat(R"({"schema":")", kPageSchema, R"(","live":true})")); }

}  // namespace lenslet::serve
