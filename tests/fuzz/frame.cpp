// Bytes of a channel, and every message that a frame may hold. The first byte chooses what the rest is: bytes
// of the channel, the CBOR of one frame, JSON text that is put into one, or CBOR whose first byte is repeated
// until whatever decodes it by recursion has no stack left.

#include "base/frame.h"

#include <nlohmann/json.hpp>

#include "base/fields_json.h"
#include "compile/pool.h"
#include "fuzz/fuzz.h"
#include "measure/messages.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;
using Json = nlohmann::ordered_json;

std::string framed(std::string_view payload) {
  std::string frame = "TTF1";
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(payload.size() >> shift & 0xff);
  return frame.append(payload);
}

std::string channel_bytes(int kind, std::string_view rest) {
  constexpr std::size_t kRepeated = 300000;
  if (kind == 0) return std::string(rest);
  if (kind == 1) return framed(rest);
  if (kind == 3) return rest.empty() ? "" : framed(std::string(kRepeated, rest[0]).append(rest));
  const Json json = Json::parse(rest, nullptr, false);
  return json.is_discarded() ? ""
                             : framed(std::string(reinterpret_cast<const char*>(Json::to_cbor(json).data()),
                                                  Json::to_cbor(json).size()));
}

/// CBOR, in which not-a-numbers are alike too.
std::vector<std::uint8_t> bytes_of(const Json& json) { return Json::to_cbor(json); }

/// What a reader makes of a message survives being sent on.
template <IsMessage Message>
void check_reader(const Json& message) {
  try {
    const Json sent = to_json(from_json<Message>(message));
    require(bytes_of(to_json(from_json<Message>(sent))) == bytes_of(sent),
            "a message is read as it was written");
  } catch (const ProtocolError&) {
  }
}

void check_job(const Json& message) {
  try {
    const Json sent = compile_job(request_of_job(message, {}), {});
    require(bytes_of(compile_job(request_of_job(sent, {}), {})) == bytes_of(sent),
            "a job is read as it was written");
  } catch (const ProtocolError&) {
  }
}

void check_message(const Json& message) {
  check_reader<GpuOpened>(message);
  check_reader<Alive>(message);
  check_reader<PrepareRequest>(message);
  check_reader<Prepared>(message);
  check_reader<MeasureRequest>(message);
  check_reader<Measured>(message);
  check_reader<FinalsRequest>(message);
  check_reader<FinalsMeasured>(message);
  check_reader<WorkerSettings>(message);
  check_reader<CompileReply>(message);
  check_job(message);
  is_ready_message(message);
}

/// The messages of a stream that arrives in pieces of `piece` bytes, and whether it ended in an error.
std::pair<std::vector<Json>, bool> messages_of(std::string_view bytes, std::size_t piece) {
  FrameReader reader;
  std::vector<Json> messages;
  try {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(bytes.substr(at, piece));
      while (auto message = reader.next()) messages.push_back(std::move(*message));
    }
  } catch (const ProtocolError&) {
    return {std::move(messages), true};
  }
  return {std::move(messages), false};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes = channel_bytes(data[0] % 4, text_of(data + 1, size - 1));
  const auto [messages, failed] = messages_of(bytes, bytes.size() + 1);
  const auto [in_pieces, failed_in_pieces] = messages_of(bytes, 7 + bytes.size() / 1000);
  require(failed == failed_in_pieces && messages.size() == in_pieces.size(),
          "it does not matter how bytes arrive");
  for (const Json& message : messages) {
    const auto [again, broken] = messages_of(encode_frame(message), 4096);
    require(!broken && again.size() == 1 && bytes_of(again[0]) == bytes_of(message),
            "a message can be sent on");
    check_message(message);
  }
  return 0;
}
