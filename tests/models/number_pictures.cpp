#include "tests/models/number_pictures.h"

#include <cmath>
#include <random>

#include "tests/models/drawn_pictures.h"

namespace lenslet::test {

std::vector<NumberPicture> number_pictures() {
  const Colour wood{72, 50, 36}, pale_blue{170, 195, 225};
  const auto vignette = [](double x, double y) {
    return 1 - 0.5 * ((x - .5) * (x - .5) + (y - .5) * (y - .5));
  };
  const auto from_left = [](double x, double) { return 0.55 + 0.45 * x; };
  const auto hand_shadow = [](double x, double y) {
    const double d = x + 0.6 * y - 0.85;
    return d > 0 ? 0.62 : d > -0.03 ? 0.62 - d / 0.03 * 0.38 : 1.0;
  };
  // A shadow below a diagonal x + y = `where`, whose edge has a width of about 4 `softness`.
  const auto soft_shadow = [](double where, double softness) {
    return [=](double x, double y) { return 1 - 0.45 / (1 + std::exp((where - x - y) / softness)); };
  };
  const Pen blue{kBlueInk, 0.07}, pencil{kPencil, 0.055}, marker{{20, 60, 50}, 0.10}, thin{kBlackInk, 0.045};
  std::vector<NumberPicture> all;
  const auto add = [&](const char* name, const char* number, const Picture& picture,
                       const char* reason = "") {
    all.push_back({name, number, reason, picture});
  };
  add("one_digit", "7", DrawnPicture(300, 300).write("7", 90, 60, 170).picture());
  add("year", "2026", DrawnPicture(640, 240).write("2026", 70, 50, 130).picture());
  add("phone_number", "0123456789", DrawnPicture(1600, 220).write("0123456789", 60, 50, 120, blue).photo());
  add("light_on_dark", "358",
      DrawnPicture(480, 240, {30, 44, 40}).write("358", 60, 50, 130, {{235, 235, 225}}).noise(3).picture());
  add("table_edge_digit", "3",
      DrawnPicture(800, 600, {206, 202, 190}, 2)
          .write("3", 320, 160, 260, blue)
          .fill([](double x, double) { return x < 32; }, wood)
          .noise(4)
          .light(vignette)
          .photo());
  add("table_edge_number", "2026",
      DrawnPicture(900, 500, {206, 202, 190}, 3)
          .write("2026", 150, 120, 220, blue)
          .fill([](double x, double y) { return y > 455 + 0.03 * x; }, wood)
          .noise(4)
          .light(vignette)
          .photo());
  add("table_corner", "41",
      DrawnPicture(800, 600, {210, 208, 200}, 4)
          .write("41", 230, 170, 240)
          .fill([](double x, double y) { return x + y < 170; }, wood)
          .noise(4)
          .light(from_left)
          .photo());
  add("oblique_sheet", "608",
      DrawnPicture(900, 640, {226, 224, 218}, 5)
          .write("608", 230, 190, 240, blue)
          .perspective({{.10, .06}, {-.04, .10}, {-.12, -.05}, {.04, -.09}}, wood)
          .noise(4)
          .photo());
  add("shadow_of_a_hand", "95",
      DrawnPicture(700, 500, {228, 226, 220}, 6)
          .write("95", 180, 120, 220, blue)
          .light(hand_shadow)
          .noise(3)
          .photo());
  add("lamp_from_one_side", "174",
      DrawnPicture(800, 500, {230, 228, 220}, 7)
          .write("174", 180, 120, 230)
          .light(from_left)
          .noise(4)
          .photo());
  add("lined_paper", "83",
      DrawnPicture(640, 480, kWhite, 8)
          .lines(48, pale_blue)
          .write("83", 190, 120, 170, blue)
          .noise(3)
          .photo());
  add("squared_paper", "5270",
      DrawnPicture(800, 420, kWhite, 9)
          .lines(30, pale_blue, true)
          .write("5270", 130, 110, 160, blue)
          .noise(3)
          .photo());
  add("pencil", "64",
      DrawnPicture(600, 400, {236, 234, 228}, 10)
          .write("64", 170, 80, 200, {{150, 150, 152}, .05})
          .noise(4)
          .photo());
  add("pencil_on_squared_paper", "29",
      DrawnPicture(640, 480, {238, 237, 232}, 11)
          .lines(40, {186, 200, 214}, true)
          .write("29", 190, 130, 200, {{128, 128, 132}, .055})
          .noise(3)
          .photo());
  add("pencil_on_lined_paper", "316",
      DrawnPicture(800, 480, {238, 237, 232}, 12)
          .lines(60, {150, 165, 190})
          .write("316", 200, 130, 200, pencil)
          .noise(3)
          .photo());
  add("table_all_round", "58",
      DrawnPicture(900, 700, {216, 212, 204}, 26)
          .write("58", 280, 190, 260, blue)
          .fill([](double x, double y) { return x < 36 || y < 28 || x > 864 || y > 672; }, wood)
          .noise(4)
          .light(from_left)
          .photo());
  add("turned_sheet", "907",
      DrawnPicture(900, 700, {216, 212, 204}, 27)
          .write("907", 230, 220, 210, blue)
          .perspective({{.03, .10}, {-.10, .02}, {-.02, -.09}, {.11, -.03}}, {96, 74, 58})
          .noise(4)
          .light(from_left)
          .photo());
  add("card_on_a_desk", "24",
      DrawnPicture(900, 700, {232, 230, 224}, 28)
          .write("24", 250, 200, 300)
          .perspective({{.30, .28}, {-.26, .25}, {-.24, -.30}, {.27, -.26}}, {84, 78, 74})
          .noise(4)
          .photo());
  add("exercise_book", "47",
      DrawnPicture(700, 480, {240, 240, 236}, 29)
          .lines(52, {120, 140, 190}, true, 2.2)
          .write("47", 220, 120, 220, blue)
          .noise(3)
          .photo());
  add("stripe_of_sun", "681",
      DrawnPicture(800, 500, {190, 188, 180}, 30)
          .write("681", 170, 130, 220, blue)
          .light([](double x, double y) { return x + 0.3 * y > 0.72 ? 1.3 : 1.0; })
          .noise(3)
          .photo());
  // Shadows with a soft edge, numbers near an edge of the picture.
  add("in_a_soft_shadow", "516",
      DrawnPicture(800, 600, {228, 224, 204}, 36)
          .write("516", 260, 420, 130)
          .light(soft_shadow(0.42, 0.12))
          .noise(3)
          .photo());
  add("pencil_across_a_soft_shadow", "506",
      DrawnPicture(800, 600, {228, 218, 212}, 37)
          .write("506", 40, 40, 170, pencil)
          .light(soft_shadow(1, 0.1))
          .noise(3)
          .photo());
  add("pencil_across_a_shadow", "506",
      DrawnPicture(800, 600, {228, 218, 212}, 39)
          .write("506", 40, 40, 170, pencil)
          .light(soft_shadow(1, 0.025))
          .noise(3)
          .photo());
  add("pencil_beside_a_strip_of_table", "27",
      DrawnPicture(800, 600, {226, 218, 204}, 38)
          .write("27", 330, 440, 130, {{150, 150, 152}, .05})
          .fill([](double x, double y) { return x > 790 - 0.01 * y; }, {45, 40, 38})
          .noise(2)
          .photo());
  add("screenshot_with_a_frame", "42",
      DrawnPicture(500, 360)
          .write("42", 170, 130, 140)
          .fill([](double x, double y) { return y < 36 || x < 3 || x >= 497 || y >= 357; }, {58, 62, 74})
          .fill([](double x, double y) { return y > 12 && y < 24 && std::fmod(x, 26) < 12 && x > 430; },
                {220, 90, 80})
          .picture());
  add("dark_screenshot", "190",
      DrawnPicture(560, 320, {32, 33, 38})
          .write("190", 130, 100, 140, {{225, 228, 235}, .08})
          .fill([](double, double y) { return y < 30; }, {60, 62, 70})
          .picture());
  add("whiteboard", "2017",
      DrawnPicture(900, 600, {214, 218, 222}, 13)
          .write("2017", 170, 190, 200, marker)
          .light(from_left)
          .glare(.28, .2, .16, .9)
          .glare(.8, .12, .07, .95)
          .noise(3)
          .photo());
  add("whiteboard_with_its_rim", "36",
      DrawnPicture(900, 600, {205, 210, 214}, 14)
          .write("36", 300, 180, 240, {{170, 30, 40}, .09})
          .fill([](double, double y) { return y > 566; }, {120, 122, 126})
          .fill([](double, double y) { return y > 580; }, {60, 60, 64})
          .glare(.6, .1, .2, .8)
          .noise(3)
          .photo());
  add("blurred", "50",
      DrawnPicture(500, 360, kWhite, 15).write("50", 130, 90, 180, blue).blur(4).noise(3).photo(60));
  add("small_in_a_large_photo", "1984",
      DrawnPicture(2400, 1800, {222, 220, 212}, 16)
          .write("1984", 1300, 900, 130, blue)
          .noise(3)
          .light(vignette)
          .photo());
  add("close_together", "7315",
      DrawnPicture(640, 260, kWhite, 17).write("7315", 90, 60, 140, thin, .07).picture());
  add("slanted", "4127",
      DrawnPicture(760, 300, kWhite, 18).write("4127", 90, 70, 150, {kBlueInk, .07, .35}).picture());
  add("two_touching", "66",
      DrawnPicture(400, 300, kWhite, 19).write("66", 100, 70, 150, {kBlackInk, .08}, -.05).picture());
  add("underlined", "512",
      DrawnPicture(560, 320, kWhite, 20)
          .write("512", 120, 70, 150, blue)
          .stroke({{90, 262}, {470, 255}}, 7, kBlueInk)
          .picture());
  add("letter", "", DrawnPicture(300, 300, kWhite, 21).write("A", 80, 60, 170).picture(), "no digit: ");
  add("digits_and_a_letter", "", DrawnPicture(640, 240, kWhite, 22).write("20A6", 70, 50, 130).picture(),
      "no number: ");
  add("decimal_point", "", DrawnPicture(520, 240, kWhite, 23).write("3.14", 80, 50, 130).picture(),
      "no number: ");
  add("blank_sheet", "", DrawnPicture(500, 360, {225, 224, 218}, 24).noise(4).light(from_left).photo(),
      "blank");
  {
    DrawnPicture tweed(600, 450, {196, 180, 160}, 25);
    std::mt19937 random(5);
    std::uniform_real_distribution<double> u;
    for (int i = 0; i < 2400; ++i) {
      const double x = 600 * u(random), y = 450 * u(random), dx = 3 + 5 * u(random);
      tweed.stroke({{x, y}, {x + dx, y + 6 * u(random) - 3}}, 2.2, {110, 90, 70});
    }
    add("textured_paper", "", tweed.noise(3).photo(), "texture");
  }
  return all;
}

}  // namespace lenslet::test
