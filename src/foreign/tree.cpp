#include "foreign/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tiletune {

void Tree::clear() {
  nodes_.clear();
  text_.clear();
  open_.clear();
  next_key_ = {};
}

Branch Tree::root() const { return {*this, 0}; }

Tree::Slice Tree::store(std::string_view text) {
  const Slice slice{static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(text.size())};
  text_ += text;
  return slice;
}

Tree::Node& Tree::add(Kind kind) {
  Node& node = nodes_.emplace_back();
  node.kind = kind;
  node.key = next_key_;
  node.end = static_cast<std::uint32_t>(nodes_.size());
  next_key_ = {};
  return node;
}

void Tree::key(std::string_view name) { next_key_ = store(name); }

void Tree::rounded_integer(double value) {
  number(value);
  nodes_.back().rounded = true;
}

void Tree::text(std::string_view value) {
  const Slice slice = store(value);
  add(Kind::text).text = slice;
}

void Tree::open(Kind kind) {
  add(kind);
  open_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
}

void Tree::close() {
  nodes_[open_.back()].end = static_cast<std::uint32_t>(nodes_.size());
  open_.pop_back();
}

double Branch::number() const {
  return is(Tree::Kind::number) ? node().number : static_cast<double>(node().integer);
}

std::optional<Branch> Branch::find(std::string_view name) const {
  if (!is(Tree::Kind::object)) return std::nullopt;
  for (const Branch child : *this) {
    if (child.key() == name) return child;
  }
  return std::nullopt;
}

std::string_view Branch::text_of(std::string_view name) const {
  const auto member = find(name);
  return member && member->is(Tree::Kind::text) ? member->text() : std::string_view();
}

std::optional<double> Branch::number_of(std::string_view name) const {
  const auto member = find(name);
  return member && member->is_number() ? std::optional(member->number()) : std::nullopt;
}

Branch::Iterator& Branch::Iterator::operator++() {
  at_ = tree_->nodes_[at_].end;
  return *this;
}

namespace {

void append_container(std::string& out, const Branch& branch) {
  const bool object = branch.is(Tree::Kind::object);
  out += object ? '{' : '[';
  bool first = true;
  for (const Branch child : branch) {
    if (!first) out += ',';
    first = false;
    if (object) {
      append_json_string(out, child.key());
      out += ':';
    }
    append_json(out, child);
  }
  out += object ? '}' : ']';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  if (plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void append_json(std::string& out, const Branch& branch) {
  switch (branch.kind()) {
    case Tree::Kind::null:
      out += "null";
      return;
    case Tree::Kind::boolean:
      out += branch.truth() ? "true" : "false";
      return;
    case Tree::Kind::integer:
      fmt::format_to(std::back_inserter(out), "{}", branch.integer());
      return;
    case Tree::Kind::number:
      // As the rest of tiletune writes numbers: 1.0, not 1.
      out += nlohmann::json(branch.number()).dump();
      return;
    case Tree::Kind::text:
      append_json_string(out, branch.text());
      return;
    case Tree::Kind::list:
    case Tree::Kind::object:
      append_container(out, branch);
  }
}

std::string to_json_text(const Branch& branch) {
  std::string text;
  append_json(text, branch);
  return text;
}

}  // namespace tiletune
