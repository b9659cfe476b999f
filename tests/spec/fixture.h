#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "carries.h"
#include "spec/load.h"
#include "user_error_of.h"

namespace tiletune {

using Json = nlohmann::ordered_json;

/// What an error has to carry, its remedy included.
struct Fault {
  const char* patch;  ///< RFC 7396 merge patch that breaks a valid document
  const char* pointer;
  std::vector<std::string> parts;
};

inline void expect_fault(const UserError& error, const Fault& fault, const std::string& file) {
  EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), fault.parts)) << fault.patch;
  EXPECT_EQ(error.where().file, file) << fault.patch;
  EXPECT_EQ(error.where().pointer, fault.pointer) << fault.patch;
  EXPECT_FALSE(error.remedy().empty()) << fault.patch;
}

/// A folder of its own with a gemm template "tile", "axpy" and "softmax", whose operations are objects with
/// the least and with more in them, and a config; gone afterwards.
class SpecTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tiletune-spec-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = std::filesystem::canonical(pattern);
    write("kernel_templates/tile/kernel.cuh", "template <int BM> __global__ void tile();\n");
    write("kernel_templates/axpy/kernel.cu", "extern \"C\" __global__ void axpy();\n");
    write("kernel_templates/axpy/reference.cu", "extern \"C\" __global__ void reference();\n");
    write("kernel_templates/softmax/kernel.cu", "extern \"C\" __global__ void softmax();\n");
    write("kernel_templates/softmax/reference.cu", "extern \"C\" __global__ void softmax();\n");
    write("kernel_templates/softmax/template.json", softmax().dump());
    write("kernel_templates/tile/template.json", tile().dump());
    write("kernel_templates/axpy/template.json", axpy().dump());
    std::filesystem::create_directories(root_ / "kernel_templates/operations");
    std::filesystem::copy(std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates/operations/gemm",
                          root_ / "kernel_templates/operations/gemm");
    options_.template_folders = {root_ / "kernel_templates"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static Json tile() {
    return Json::parse(R"json({
      "$schema": "../../schemas/template.schema.json",
      "name": "tile", "summary": "A tiled kernel.", "teaches": "Tiling.",
      "operation": "gemm", "types": {"A": "f16", "B": "f16", "C": "f32", "accumulator": "f32"},
      "source": "kernel.cuh", "kernel": "tile", "template_arguments": ["BM", 4, true],
      "compile_options": ["--use_fast_math"], "include_folders": [],
      "parameters": [{"name": "BM", "values": [32, 64, 128], "meaning": "rows"},
                     {"name": "PAD", "values": [true, false], "meaning": "padding"}],
      "derived": [{"name": "THREADS", "value": "BM * 2", "meaning": "threads"}],
      "constraints": [{"require": "BM % 32 == 0", "why": "whole warps"}],
      "launch": {"grid": ["ceil_div(N, BM)", "ceil_div(M, BM)"], "block": [256], "dynamic_shared_bytes": "BM * 4"},
      "arguments": [{"scalar": "M", "type": "i32"}, {"scalar": "ldb", "type": "i64", "value": "N"},
                    {"scalar": "alpha", "type": "f32"}, {"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"}],
      "min_compute_capability": "7.0", "max_compute_capability": "12.0",
      "pipe": "tf32x3", "tolerance_factor": 2.5})json");
  }
  static Json axpy() {
    return Json::parse(R"json({
      "name": "axpy", "summary": "y = a * x + y", "types": {"accumulator": "f64"},
      "operation": {
        "dimensions": ["n"], "scalars": {"a": 2.0},
        "buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"},
                    {"name": "y", "type": "f64", "elements": "n", "role": "inout"}],
        "flops": "2 * n", "bytes": "20 * n", "accumulation": 1, "bound": "copy",
        "reference": {"source": "reference.cu", "kernel": "reference", "grid": ["ceil_div(n, 256)"], "block": ["256"]}},
      "source": "kernel.cu", "kernel": "axpy", "macros": {"TILE_SIZE": "BLOCK * 2"},
      "parameters": [{"name": "BLOCK", "values": [128, 256], "meaning": "threads"}],
      "launch": {"grid": ["ceil_div(n, BLOCK)"], "block": ["BLOCK"]},
      "workspace": [{"name": "partials", "type": "f64", "elements": "n * BLOCK", "zeroed": false, "meaning": "sums"}],
      "arguments": [{"scalar": "n", "type": "i32"}, {"scalar": "a", "type": "f32"}, {"buffer": "x"}, {"buffer": "y"},
                    {"buffer": "partials"}]})json");
  }

  static Json softmax() {
    return Json::parse(R"json({
      "name": "softmax", "summary": "Softmax of each row",
      "operation": {
        "name": "row_softmax", "dimensions": ["rows", "columns"], "scalars": {"scale": 1.0},
        "types": {"T": ["f32", "f16"], "accumulator": ["f32", "f64"]}, "options": {"base": ["e", "2"]},
        "buffers": [{"name": "in", "type": "T", "rows": "rows", "columns": "columns", "pitch": "stride", "role": "in"},
                    {"name": "out", "type": "T", "rows": "rows", "columns": "columns", "role": "inout",
                     "read_when": "scale != 1.0"},
                    {"name": "sums", "type": "f64", "elements": "rows", "role": "out"}],
        "flops": "5 * rows * columns", "bytes": "2 * rows * columns * size(T) + 8 * rows", "accumulation": "columns",
        "bound": "copy",
        "reference": {"source": "reference.cu", "kernel": "softmax", "grid": ["rows"], "block": [256]}},
      "types": {"T": "f16"}, "options": {"base": "2"},
      "source": "kernel.cu", "kernel": "softmax", "macros": {"THREADS": "THREADS", "TWO": "base == '2'"},
      "parameters": [{"name": "THREADS", "values": [128, 256], "meaning": "threads"}],
      "launch": {"grid": ["rows"], "block": ["THREADS"]},
      "arguments": [{"buffer": "in"}, {"buffer": "out"}, {"buffer": "sums"}, {"scalar": "columns", "type": "i32"},
                    {"scalar": "stride", "type": "i32"}, {"scalar": "scale", "type": "f32"}]})json");
  }

  /// A reduction in two launches, whose weights lie in constant memory.
  static Json sums() {
    return Json::parse(R"--({
      "name": "sums", "summary": "two launches",
      "operation": {
        "dimensions": ["n"], "flops": "n", "bytes": "4 * n", "accumulation": "n", "bound": "copy",
        "buffers": [{"name": "in", "type": "f32", "elements": "n", "role": "in"},
                    {"name": "weights", "type": "f32", "elements": "16", "role": "in"},
                    {"name": "out", "type": "f32", "elements": "1", "role": "out"}],
        "reference": {"source": "reference.cu", "kernel": "r", "grid": ["1"], "block": ["1"],
                      "arguments": [{"buffer": "in"}, {"buffer": "weights"}, {"buffer": "out"}]}},
      "source": "kernel.cu", "constants": {"d_weights": "weights"},
      "parameters": [{"name": "T", "values": [128, 256]}],
      "workspace": [{"name": "partials", "type": "f32", "elements": "ceil_div(n, T)"}],
      "launches": [
        {"kernel": "partial", "template_arguments": ["T"], "grid": ["ceil_div(n, T)"], "block": ["T"],
         "arguments": [{"buffer": "in"}, {"buffer": "partials"}]},
        {"kernel": "finish", "grid": ["1"], "block": ["T"], "dynamic_shared_bytes": "4 * T",
         "arguments": [{"buffer": "partials"}, {"buffer": "out"}, {"scalar": "n", "type": "i32"}]}]})--");
  }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const auto path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  /// Writes `document` with `patch` applied as the template's manifest.
  std::filesystem::path write_manifest(Json document, const std::string& patch) const {
    const std::string folder = document["name"];
    document.merge_patch(Json::parse(patch));
    return write("kernel_templates/" + folder + "/template.json", document.dump());
  }
  TemplateSpec load_patched(const Json& document, const std::string& patch) const {
    return load_template(write_manifest(document, patch), options_);
  }
  TuneSpec load_config(const std::string& text) const {
    return load_tune_spec(write("configs/sweep.json", text), options_);
  }

  std::filesystem::path root_;
  LoadOptions options_;
};

}  // namespace tiletune
