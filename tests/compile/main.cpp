// The test executable is also its own compile worker, good or bad: `compile-worker`, `bad-worker`,
// `stillborn-worker`.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/fields_json.h"
#include "compile/pool.h"

namespace tiletune {
namespace {

void write_raw(std::string_view bytes) {
  if (::write(kWorkerChannelFd, bytes.data(), bytes.size()) < 0) ::_exit(1);
}

void print(const std::string& text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) ::_exit(1);
}

bool asks_for(const std::string& source, const char* word) { return source.find(word) != std::string::npos; }

void misbehave(const std::string& source, const CompileReply& reply) {
  if (asks_for(source, "BE_TALKATIVE")) print("earlier words\n");
  if (asks_for(source, "BE_GARRULOUS")) {
    print("\033[2J\xff" + std::string(50000, 'x'));
    ::_exit(7);
  }
  if (asks_for(source, "BE_SEGFAULT")) ::raise(SIGSEGV);
  if (asks_for(source, "BE_KILLED")) ::raise(SIGKILL);
  if (asks_for(source, "BE_EXIT")) ::_exit(7);
  if (asks_for(source, "BE_HANG")) ::pause();
  if (asks_for(source, "BE_GARBAGE")) write_raw("this is no frame at all");
  if (asks_for(source, "BE_HALF")) {
    write_raw(std::string_view(encode_frame(to_json(reply))).substr(0, 20));
    ::_exit(0);
  }
}

/// Compiles, but does what a word in the source text asks for instead of answering.
int run_bad_worker() {
  die_with_parent();
  WorkerChannel channel;
  const auto settings = channel.receive();
  channel.send(ready_message());
  while (const auto message = channel.receive()) {
    const CompileRequest request = request_of_job(*message, {});
    CompileReply reply;
    reply.key = request.key();
    const std::string& source = request.source.text;
    misbehave(source, reply);
    const Compiled compiled = compile_here(request);
    reply.outcome = compiled.outcome;
    if (compiled.binary) reply.binary = *compiled.binary;
    if (asks_for(source, "BE_WRONG_KEY")) reply.key.clear();
    if (asks_for(source, "BE_WRONG_BINARY")) reply.binary->key.clear();
    if (asks_for(source, "BE_FORGETFUL")) reply.binary.reset();
    channel.send(to_json(reply));
    if (asks_for(source, "BE_LAST")) return 0;
  }
  return 0;
}

}  // namespace
}  // namespace tiletune

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "compile-worker") return tiletune::run_compile_worker();
  if (mode == "bad-worker") return tiletune::run_bad_worker();
  if (mode == "stillborn-worker") return 3;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
