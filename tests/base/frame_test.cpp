#include "base/frame.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "carries.h"

namespace tiletune {
namespace frame_test {

using Json = nlohmann::ordered_json;

Json sample() {
  return {{"type", "compiled"}, {"ticket", 7}, {"log", "a\nb"}, {"cubin", Json::binary({0, 1, 255})}};
}

TEST(Frame, SurvivesArrivalByteByByte) {
  const std::string bytes = encode_frame(sample()) + encode_frame({{"type", "second"}});
  FrameReader reader;
  std::vector<Json> messages;
  for (const char byte : bytes) {
    reader.feed(std::string_view(&byte, 1));
    while (auto message = reader.next()) messages.push_back(*message);
  }
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0], sample());
  EXPECT_EQ(messages[1]["type"], "second");
  EXPECT_FALSE(reader.in_the_middle());
}

TEST(Frame, RefusesBytesThatBeginNoFrame) {
  FrameReader reader;
  reader.feed("TX");
  EXPECT_THROW(reader.next(), ProtocolError);
}

TEST(Frame, RefusesAHugeLengthBeforeItsPayloadArrives) {
  FrameReader reader;
  reader.feed("TTF1\xff\xff\xff\xff");
  EXPECT_THROW(reader.next(), ProtocolError);
}

TEST(Frame, RefusesPayloadsThatAreNoTypedMap) {
  for (const Json& bad : {Json(3), Json::array({1}), Json::object(), Json{{"type", 3}}}) {
    FrameReader reader;
    reader.feed(encode_frame(bad));
    EXPECT_THROW(reader.next(), ProtocolError) << bad.dump();
  }
}

/// A frame around a payload that encode_frame() would not make.
std::string framed(const std::string& payload) {
  std::string frame = "TTF1";
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(payload.size() >> shift & 0xff);
  return frame + payload;
}

std::string error_of(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  try {
    reader.next();
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "none";
}

TEST(Frame, RefusesAPayloadNestedWithoutEndBeforeTheStackIs) {
  const std::string lists(std::size_t{8} << 20, '\x81');
  EXPECT_TRUE(carries(error_of(framed(lists)), {"CBOR", "64 deep"}));
  for (const char piece : {'\x5f', '\x7f'}) {
    EXPECT_TRUE(
        carries(error_of(framed(std::string(std::size_t{8} << 20, piece))), {"CBOR", "byte 0", "length"}));
  }
}

TEST(Frame, FindsAnItemOfNoDefiniteLengthBehindAllOthers) {
  const Json before = {{"type", "t"},   {"text", std::string(70000, '\x7f')},  {"float", 0.1},
                       {"integer", -9}, {"bytes", Json::binary({0x5f, 0x7f})}, {"list", {true, nullptr}}};
  EXPECT_EQ(error_of(encode_frame(before)), "none");
  std::string payload = "\x82";
  Json::to_cbor(before, payload);

  for (const std::string item : {"\x5f\xff", "\x7f\xff", "\x9f\xff", "\xbf\xff"}) {
    EXPECT_TRUE(carries(error_of(framed(payload + item)), {"CBOR", fmt::format("byte {}", payload.size())}));
  }
}

TEST(Frame, RefusesAMapOfMoreMembersThanAreLookedThroughInTime) {
  std::string map = "\xba" + std::string("\0\x0f\x42\x40", 4);
  for (int i = 0; i < 1000000; ++i) map += fmt::format("\x67{:07}\x01", i);
  EXPECT_TRUE(carries(error_of(framed(map)), {"CBOR", "4096 members"}));
}

TEST(Frame, WaitsForTheRestOfAFrame) {
  const std::string bytes = encode_frame(sample());
  FrameReader reader;
  reader.feed(std::string_view(bytes).substr(0, bytes.size() - 1));
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_TRUE(reader.in_the_middle());
}

}  // namespace frame_test
}  // namespace tiletune
