// The beginning of an .npy file: what its header says, and the array that a manifest asks of it.

#include "spec/npy.h"

#include "fuzz/fuzz.h"

using namespace tiletune;
using namespace tiletune::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content = text_of(data, size);
  const auto header = parse_npy_header(content);
  if (header) {
    require(header->offset <= size, "numbers begin in the file");
    require(header->elements >= 0, "an array has no negative number of elements");
    for (const std::int64_t extent : header->shape) require(extent >= 0, "an extent is not negative");
  }
  const std::filesystem::path file = write_scratch("x.npy", content);
  for (const ElementType type : {ElementType::f32, ElementType::i8, ElementType::bf16}) {
    const std::int64_t elements = header ? header->elements : 1;
    refused([&] {
      const ArrayFile array = open_npy(file, elements, {type}, Where{"template.json", "/values"});
      require(header.has_value(), "an array has a header");
      require(array.offset == header->offset && array.type == type, "the array is what the header says");
      require(array.offset + static_cast<std::uint64_t>(elements) * size_bytes(type) <= size,
              "the file has all numbers");
    });
  }
  return 0;
}
