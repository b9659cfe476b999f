#include "inspect/pointer_uses.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/text.h"

namespace tiletune {

namespace {

using Words = std::vector<std::string_view>;

/// Numbers of the parameters that a value may be computed from; what is loaded from where a parameter points
/// to has its number and that of all parameters added.
using Origins = std::set<std::size_t>;

struct Instruction {
  std::string_view name;         ///< "st.global.f32"
  Words targets;                 ///< registers that it writes
  Words sources;                 ///< what else stands outside of brackets
  std::vector<Words> addresses;  ///< what stands in each pair of brackets
};

bool is_part_of_name(char c) { return is_identifier_part(c) || c == '%' || c == '$' || c == '.'; }

/// The names in a piece of text. Numbers are harmless ones.
Words words_in(std::string_view text) {
  Words words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && is_part_of_name(text[i])) ++i;
    if (i > begin) words.push_back(text.substr(begin, i - begin));
    if (i == begin) ++i;
  }
  return words;
}

/// Reads "@%p1 ld.global.v2.f32 {%f1, %f2}, [%rd4+8]".
Instruction read_instruction(std::string_view text) {
  Instruction one;
  for (text = trim(text); !text.empty(); text = trim(text)) {  // a predicate or a label stands before it
    std::size_t end = text.front() == '@' || text.front() == '!' ? 1 : 0;
    while (end < text.size() &&
           (is_part_of_name(text[end]) || text[end] == '!' || text.substr(end).starts_with("::")))
      end += text[end] == ':' ? 2 : 1;
    end = std::max(end, std::size_t{1});
    one.name = text.substr(0, end);
    text.remove_prefix(end);
    if (text.starts_with(":")) {
      text.remove_prefix(1);
    } else if (!one.name.starts_with("@")) {
      break;
    }
  }
  bool is_first = true;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('['), text.size());
    std::string_view plain = text.substr(0, open);
    if (is_first && !trim(plain).empty()) {
      plain = trim(plain);
      const std::size_t brace = plain.starts_with("{") ? plain.find('}') : 0;
      const std::size_t comma = std::min(plain.find(',', std::min(brace, plain.size())), plain.size());
      one.targets = words_in(plain.substr(0, comma));
      plain.remove_prefix(comma);
    }
    is_first = false;
    for (const std::string_view word : words_in(plain)) one.sources.push_back(word);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = std::min(text.find(']'), text.size() - 1);
    one.addresses.push_back(words_in(text.substr(1, close - 1)));
    text.remove_prefix(close + 1);
  }
  return one;
}

class UseReader {
 public:
  UseReader(const Words& parameters, std::vector<Instruction> instructions)
      : instructions_(std::move(instructions)), uses_(parameters.size()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) origins_[parameters[i]] = {i};
    parameters_ = origins_;
  }

  std::vector<PointerUse> read() {
    // Each round follows what a loop carries by one more step. None needs nearly as many.
    constexpr int kMostRounds = 64;
    for (int round = 0; propagate(); ++round) {
      if (round < kMostRounds) continue;
      for (PointerUse& use : uses_) use.escaped = true;
      return uses_;
    }
    for (const Instruction& one : instructions_) note(one);
    return uses_;
  }

 private:
  Origins origins_of(const Words& words) const {
    Origins all;
    for (const std::string_view word : words)
      if (const auto known = origins_.find(word); known != origins_.end())
        all.insert(known->second.begin(), known->second.end());
    return all;
  }

  /// Returns whether some register may hold more than before.
  bool propagate() {
    bool any = false;
    for (const Instruction& one : instructions_) {
      const bool loads_parameter = one.name.starts_with("ld.param");
      if (one.name.starts_with("setp")) continue;  // whose result is neither an address nor an index
      Origins origins = origins_of(one.addresses.empty() ? one.sources : one.addresses.front());
      if (!one.addresses.empty() && !loads_parameter) {
        Origins loaded;
        for (const std::size_t parameter : origins)
          if (parameter < uses_.size()) loaded.insert(parameter + uses_.size());
        origins = std::move(loaded);
      }
      if (origins.empty()) continue;
      for (const std::string_view target : one.targets) {
        Origins& known = origins_[target];
        const std::size_t before = known.size();
        known.insert(origins.begin(), origins.end());
        any = any || known.size() > before;
      }
    }
    return any;
  }

  void mark(const Words& words, bool PointerUse::*what) {
    for (const std::size_t parameter : origins_of(words))
      if (parameter < uses_.size()) uses_[parameter].*what = true;
  }

  void note(const Instruction& one) {
    const auto is = [&](std::initializer_list<std::string_view> starts) {
      return std::ranges::any_of(starts, [&](auto start) { return one.name.starts_with(start); });
    };
    if (is({"ld.param"})) return;
    if (one.addresses.empty()) {
      // The address of a parameter itself, as of a struct, may be read in any way.
      for (const std::string_view word : one.sources)
        if (parameters_.contains(word)) mark({word}, &PointerUse::escaped);
      return;
    }
    const bool handles_texture = is({"tex", "tld4", "txq", "suld", "sust", "sured", "suq"});
    const bool only_reads =
        is({"ld", "prefetch", "cp.async.bulk.prefetch", "applypriority", "wmma.load", "multimem.ld"}) ||
        handles_texture;
    const bool copies = is({"cp.async"});  // to the first address from the others
    const bool only_writes = is({"st", "wmma.store", "multimem.st"}) || copies;
    for (const Words& address : one.addresses) {
      const bool is_first = &address == &one.addresses.front();
      for (const std::size_t parameter : origins_of(address))
        if (parameter >= uses_.size()) uses_[parameter - uses_.size()].indexes = true;
      if (handles_texture && !address.empty()) mark({address.front()}, &PointerUse::texture);
      if (!only_reads && (is_first || !copies)) mark(address, &PointerUse::written);
      if (only_reads || !only_writes || (copies && !is_first)) mark(address, &PointerUse::read);
    }
    if (!only_reads) mark(one.sources, &PointerUse::escaped);
  }

  std::vector<Instruction> instructions_;
  std::vector<PointerUse> uses_;
  std::map<std::string_view, Origins> origins_, parameters_;
};

/// The text of a kernel from its parameters on, up to the next function, without comments and lines of the
/// source; "" where there is none.
std::string code_of_kernel(std::string_view ptx, std::string_view kernel) {
  const std::string start = ".entry " + std::string(kernel) + "(";
  const std::size_t entry = ptx.find(start);
  if (entry == std::string_view::npos) return "";
  std::string code;
  for (std::string_view rest = ptx.substr(entry + start.size()); !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const bool has_code = !trim(line).starts_with(".loc") || line.find(';') != line.npos;
    line = line.substr(0, line.find("//"));
    if (line.find(".entry ") != line.npos || line.find(".func ") != line.npos) break;
    if (has_code) code.append(line).append("\n");
  }
  return code;
}

}  // namespace

bool waits_for_grid(std::string_view ptx, std::string_view kernel) {
  // The driver puts the address of a cooperative launch's barrier there.
  return code_of_kernel(ptx, kernel).find("%envreg2") != std::string::npos;
}

std::vector<PointerUse> pointer_uses(std::string_view ptx, std::string_view kernel) {
  const std::string code = code_of_kernel(ptx, kernel);
  const std::size_t body = code.find('{');
  if (body == std::string::npos) return {};
  const std::string_view all = code;
  Words parameters;
  std::string_view list = all.substr(0, body);
  for (list = list.substr(0, list.find(')')); !list.empty();) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, comma);
    const Words words = words_in(one.substr(0, one.find('[')));
    if (!words.empty()) parameters.push_back(words.back());
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  std::vector<Instruction> instructions;
  int depth = 1;
  std::size_t begin = body + 1;
  for (std::size_t i = begin; i < code.size() && depth > 0; ++i) {
    // Braces of blocks stand at the beginnings of instructions, those of vectors in them.
    const bool is_empty = trim(all.substr(begin, i - begin)).empty();
    depth += code[i] == '{' ? 1 : code[i] == '}' ? -1 : 0;
    if (code[i] == ';') instructions.push_back(read_instruction(trim(all.substr(begin, i - begin))));
    if (code[i] == ';' || (is_empty && (code[i] == '{' || code[i] == '}'))) begin = i + 1;
  }
  return UseReader(parameters, std::move(instructions)).read();
}

}  // namespace tiletune
