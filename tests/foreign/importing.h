#pragma once

#include <zlib.h>

#include <fstream>
#include <string>

#include "carries.h"
#include "foreign/import.h"
#include "temporary_folder.h"

namespace tiletune {

/// A folder of its own with files to import and a database to put them into.
class Importing : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

  ImportSummary import(const std::filesystem::path& file, const ImportFacts& facts = {}) {
    return import_file(database_, file, facts, [](std::uint64_t) {});
  }
  ImportSummary import_text(const std::string& content, const ImportFacts& facts = {}) {
    return import(write("file.json", content), facts);
  }
  /// The message on one line, without the folder.
  std::string refusal(const std::string& content, const ImportFacts& facts = {}) {
    std::string message = error_of([&] { import_text(content, facts); });
    const std::string folder = folder_.path().string() + "/";
    for (std::size_t at = 0; (at = message.find(folder)) != std::string::npos;)
      message.erase(at, folder.size());
    for (std::size_t at = 0; (at = message.find("\n  ")) != std::string::npos;) message.replace(at, 3, ". ");
    return message;
  }
  std::vector<Trial> rows() const { return database_.trials({}); }

  TemporaryFolder folder_;
  Database database_{folder_ / "rows.db", Database::Mode::read_write};
};

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A Kernel Tuner cache of the parameter "x" with these rows, up to the braces that close it.
inline std::string open_cache(const std::string& rows, const std::string& device = "NVIDIA A100",
                              const std::string& problem_size = "[64, 32]") {
  return R"({"device_name": ")" + device + R"(", "kernel_name": "k", "problem_size": )" + problem_size +
         R"(, "tune_params_keys": ["x"], "objective": "time", "cache": {)" + rows;
}

inline std::string cache(const std::string& rows, const std::string& device = "NVIDIA A100",
                         const std::string& problem_size = "[64, 32]") {
  return open_cache(rows, device, problem_size) + "}}";
}

}  // namespace tiletune
