#include "compile/included_lists.h"

#include <fcntl.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/private_folder.h"

namespace tiletune {

namespace {

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLargestList = std::size_t{64} << 20;
constexpr const char* kHash = "<hash of the list>";

std::optional<Dependencies> parsed(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Dependencies files;
  for (const auto& [name, hash] : json.items()) {
    if (!hash.is_string()) return std::nullopt;
    files.emplace(name, hash.get<std::string>());
  }
  return files;
}

/// It becomes the name of a file.
bool is_hash(const std::string& text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::string IncludedLists::text_of(const Dependencies& files) {
  if (files.empty()) return "";
  std::string text = nlohmann::json(files).dump();
  if (text.size() <= kLongestText) return text;
  const std::string hash = hash_of_content(text);
  if (hash != last_.first) {
    last_ = {hash, files};
    try {
      write_private_file_atomically(folder_ / hash, text);
    } catch (const UserError&) {  // it will be compiled again
    }
  }
  return nlohmann::json{{kHash, hash}}.dump();
}

std::optional<Dependencies> IncludedLists::read(const std::string& text) {
  if (text.empty()) return Dependencies();
  auto files = parsed(text);
  if (!files || !files->contains(kHash)) return files;
  const std::string& hash = files->at(kHash);
  if (!is_hash(hash)) return std::nullopt;
  if (hash == last_.first) return last_.second;
  auto list = load(hash);
  if (list) last_ = {hash, *list};
  return list;
}

std::optional<Dependencies> IncludedLists::load(const std::string& hash) const {
  const std::filesystem::path path = folder_ / hash;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() || !is_private_file(file)) return std::nullopt;
  try {
    const std::string text = read_open_file(file, path, kLargestList);
    return hash_of_content(text) == hash ? parsed(text) : std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace tiletune
