#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

class Branch;

/// A JSON value whose memory is used again for the next one: files have millions of rows that are alike, and
/// a tree of separately allocated nodes for each would take longer than all the rest.
class Tree {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, number, text, list, object };

  void clear();
  bool empty() const { return nodes_.empty(); }
  std::size_t bytes() const { return text_.size() + nodes_.size() * sizeof(Node); }
  Branch root() const;

  /// The next value, in the order of the text. Containers stay open until close().
  void key(std::string_view name);
  void null() { add(Kind::null); }
  void boolean(bool value) { add(Kind::boolean).integer = value ? 1 : 0; }
  void integer(std::int64_t value) { add(Kind::integer).integer = value; }
  void number(double value) { add(Kind::number).number = value; }
  void rounded_integer(double value);
  void text(std::string_view value);
  void open(Kind kind);
  void close();
  /// There is a value, and all its containers are closed.
  bool complete() const { return open_.empty() && !nodes_.empty(); }

 private:
  friend class Branch;

  struct Slice {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  struct Node {
    Kind kind = Kind::null;
    bool rounded = false;
    union {
      std::int64_t integer = 0;  ///< also of a boolean
      double number;
    };
    Slice key;
    Slice text;
    std::uint32_t end = 0;  ///< the place behind all that lies in it
  };

  Node& add(Kind kind);
  Slice store(std::string_view text);
  std::string_view view(Slice slice) const { return {text_.data() + slice.begin, slice.size}; }

  std::vector<Node> nodes_;  ///< each container before what lies in it
  std::string text_;
  std::vector<std::uint32_t> open_;
  Slice next_key_;
};

/// A value of a tree. It refers to the tree, which must not change meanwhile.
class Branch {
 public:
  Tree::Kind kind() const { return node().kind; }
  std::string_view key() const { return tree_->view(node().key); }
  bool is(Tree::Kind wanted) const { return kind() == wanted; }
  bool is_number() const { return is(Tree::Kind::integer) || is(Tree::Kind::number); }
  /// A number that was written as an integer which does not fit.
  bool is_rounded_integer() const { return node().rounded; }
  bool truth() const { return node().integer != 0; }
  std::int64_t integer() const { return node().integer; }
  /// Of an integer, too.
  double number() const;
  std::string_view text() const { return tree_->view(node().text); }

  /// The member of that name; none where this is not an object, or has none.
  std::optional<Branch> find(std::string_view name) const;
  /// The text of that member, or nothing.
  std::string_view text_of(std::string_view name) const;
  /// The number of that member.
  std::optional<double> number_of(std::string_view name) const;

  /// What lies in a list or object: `for (Branch child : branch)`.
  class Iterator {
   public:
    Branch operator*() const { return {*tree_, at_}; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    friend class Branch;
    Iterator(const Tree* tree, std::uint32_t at) : tree_(tree), at_(at) {}
    const Tree* tree_;
    std::uint32_t at_;
  };
  Iterator begin() const { return {tree_, at_ + 1}; }
  Iterator end() const { return {tree_, node().end}; }

 private:
  friend class Tree;
  Branch(const Tree& tree, std::uint32_t at) : tree_(&tree), at_(at) {}
  const Tree::Node& node() const { return tree_->nodes_[at_]; }

  const Tree* tree_;
  std::uint32_t at_;
};

/// The value as JSON text.
std::string to_json_text(const Branch& branch);
/// The same behind what `out` holds.
void append_json(std::string& out, const Branch& branch);
void append_json_string(std::string& out, std::string_view text);

}  // namespace tiletune
