#include "apps/lenslet/pages/model_page.h"

#include <nlohmann/json.hpp>

#include "apps/common/ceilings/ceilings.h"
#include "apps/lenslet/pages/network_json.h"
#include "apps/lenslet/pages/page.h"
#include "apps/lenslet/pages/pass_profile.h"
#include "apps/lenslet/pages/picture_page.h"
#include "apps/lenslet/pages/still_page.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/session.h"

namespace lenslet {

PageMaker::PageMaker() = default;
PageMaker::~PageMaker() = default;

ModelPage PageMaker::page(const std::shared_ptr<const ModelSetup>& model, const Picture& picture,
                          const std::string& name, int64_t batch) {
  check_shown_batch(batch);  // before the ceilings are measured
  const CommonOptions options;
  const PictureOptions pictures;
  const Session session(options, model);
  PicturePage picture_page(session, pictures);
  if (!ceilings_) ceilings_ = std::make_unique<const Ceilings>(measure_ceilings(session.device()));
  const auto data = still_page(picture_page, picture, name, batch, *ceilings_);
  return {page_html(page_text(data)), describe_page(data, name, session)};
}

}  // namespace lenslet
