#include "spec/workspace.h"

#include "spec/arguments.h"
#include "spec/declared_names.h"
#include "spec/keys.h"

namespace tiletune {

namespace {

WorkspaceArray read_array(const JsonNode& node, const Operation& operation) {
  ObjectReader reader(node, keys::kWorkspace);
  WorkspaceArray array;
  array.name = read_identifier(reader.need("name", "the workspace's name"));
  array.type = read_element_type(reader.need("type", R"(an element type such as "f32")"), operation);
  array.elements = read_expression(reader.need("elements", "an expression for the number of elements"));
  if (const auto zeroed = reader.find("zeroed")) array.zeroed = read_boolean(*zeroed);
  if (const auto meaning = reader.find("meaning")) array.meaning = read_string(*meaning);
  reader.finish();
  return array;
}

}  // namespace

std::vector<WorkspaceArray> read_workspace(const JsonNode& node, const Operation& operation) {
  std::vector<WorkspaceArray> arrays;
  DeclaredNames names;
  for (const Buffer& buffer : operation.buffers)
    names.declare(buffer.name, "a buffer", buffer.elements.where);
  for (const JsonNode& element : read_list(node, "arrays", Empty::allowed)) {
    arrays.push_back(read_array(element, operation));
    names.declare(arrays.back().name, "a workspace", element.where.at("name"));
  }
  return arrays;
}

}  // namespace tiletune
