// Compiles and launches the first kernel of a best.json, on floats of 1 and zeros otherwise, and prints its
// time beside the recorded one: use_best best.json. For tensor maps, export a folder (--format cuda).
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <fstream>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using Json = nlohmann::json;
#define CHECK(call) \
  if (const int code = static_cast<int>(call)) throw std::runtime_error(#call ": " + std::to_string(code))

int main(int, char** argv) {
  std::ifstream file(argv[1]);
  const Json entry = Json::parse(file).at("best").at(0), definition = entry.at("definition");
  std::vector<std::string> options = entry.at("compile_options");
  for (const std::string folder : definition.at("include_folders")) options.push_back("-I" + folder);
  options.insert(options.end(), {"-I" CUDA_INCLUDE, "-I" CUDA_INCLUDE "/cccl"});
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  std::stringstream source;
  source << std::ifstream(definition.at("source").get<std::string>()).rdbuf();
  nvrtcProgram program;
  CHECK(nvrtcCreateProgram(&program, source.str().c_str(), "kernel.cu", 0, nullptr, nullptr));
  for (const Json& launch : definition.at("launches"))
    CHECK(nvrtcAddNameExpression(program, launch.at("kernel").get<std::string>().c_str()));
  CHECK(nvrtcCompileProgram(program, static_cast<int>(texts.size()), texts.data()));
  std::size_t size = 0;
  CHECK(nvrtcGetCUBINSize(program, &size));
  std::string cubin(size, '\0');
  CHECK(nvrtcGetCUBIN(program, cubin.data()));
  CUcontext context;
  CUmodule module;
  CUevent begin, end;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, cubin.data()));
  CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  std::map<std::string, CUdeviceptr> memory;
  for (const Json& buffer : definition.at("buffers")) {
    CUdeviceptr& address = memory[buffer.at("name")];
    CHECK(cuMemAlloc(&address, buffer.at("bytes").get<std::size_t>() + 1));
    CHECK(cuMemsetD8(address, 0, buffer.at("bytes")));
    if (buffer.at("type") == "f32") CHECK(cuMemsetD32(address, 0x3f800000, buffer.at("elements")));
  }
  for (int i = -1; i < 20; ++i) {
    if (i == 0) CHECK(cuEventRecord(begin, nullptr));
    for (const Json& launch : definition.at("launches")) {
      std::list<std::uint64_t> values;  // an address, or the bits of a number
      std::vector<void*> arguments;
      for (const Json& argument : launch.at("arguments")) {
        const bool is_address = argument.contains("buffer");
        values.push_back(is_address ? memory.at(argument["buffer"])
                                    : argument.at("bits").get<std::uint64_t>());
        arguments.push_back(&values.back());
      }
      const char* name = nullptr;
      CUfunction kernel;
      CHECK(nvrtcGetLoweredName(program, launch.at("kernel").get<std::string>().c_str(), &name));
      CHECK(cuModuleGetFunction(&kernel, module, name));
      const int shared = launch.at("dynamic_shared_bytes");
      CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared));
      const std::vector<int> grid = launch.at("grid"), block = launch.at("block");
      CHECK(cuLaunchKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, nullptr,
                           arguments.data(), nullptr));
    }
  }
  float ms = 0;
  CHECK(cuEventRecord(end, nullptr));
  CHECK(cuEventSynchronize(end));
  CHECK(cuEventElapsedTime(&ms, begin, end));
  std::printf("%s: %.1f us, recorded %.1f us\n", entry["kernel_expression"].get<std::string>().c_str(),
              1000 * ms / 20, entry["timing"]["median_us"].get<double>());
}
