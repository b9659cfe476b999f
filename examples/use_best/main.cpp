// Compiles and launches the first kernel of a best.json, on floats of 1 and zeros otherwise, and prints the
// first float of its outputs. For tensor maps and constant memory, export a folder (--format cuda).
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
  if (int code = int(call)) throw std::runtime_error(#call ": " + std::to_string(code))

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: use_best best.json");
  const Json entry = Json::parse(std::ifstream(argv[1])).at("best")[0], definition = entry.at("definition");
  std::list<std::string> kept;  // what the lists of NVRTC point to
  std::vector<const char*> options, names, texts;
  const auto keep = [&](const std::string& text) { return kept.emplace_back(text).c_str(); };
  for (const std::string option : entry.at("compile_options")) options.push_back(keep(option));
  for (const std::string folder : definition.at("include_folders")) options.push_back(keep("-I" + folder));
  options.insert(options.end(), {"-I" CUDA_INCLUDE, "-I" CUDA_INCLUDE "/cccl"});
  for (const auto& [name, text] : definition.at("supplied_headers").items())
    names.push_back(keep(name)), texts.push_back(keep(text));
  std::stringstream source;
  source << definition.at("prelude").get<std::string>()
         << std::ifstream(definition.at("source").get<std::string>()).rdbuf();
  nvrtcProgram nvrtc;
  CHECK(nvrtcCreateProgram(&nvrtc, source.str().c_str(), nullptr, names.size(), texts.data(), names.data()));
  for (const Json& launch : definition.at("launches"))
    CHECK(nvrtcAddNameExpression(nvrtc, launch.at("kernel").get<std::string>().c_str()));
  const nvrtcResult failed = nvrtcCompileProgram(nvrtc, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  CHECK(failed ? nvrtcGetProgramLogSize(nvrtc, &size) : nvrtcGetCUBINSize(nvrtc, &size));
  std::string compiled(size, '\0');
  CHECK(failed ? nvrtcGetProgramLog(nvrtc, compiled.data()) : nvrtcGetCUBIN(nvrtc, compiled.data()));
  if (failed) throw std::runtime_error(compiled);
  CUcontext context;
  CUmodule module;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, compiled.data()));
  std::map<std::string, CUdeviceptr> memory;
  for (const Json& buffer : definition.at("buffers")) {
    CUdeviceptr& address = memory[buffer.at("name")];
    CHECK(cuMemAlloc(&address, buffer.at("bytes").get<std::size_t>() + 1));
    CHECK(cuMemsetD8(address, 0, buffer.at("bytes")));
    if (buffer.at("type") == "f32") CHECK(cuMemsetD32(address, 0x3f800000, buffer.at("elements")));
  }
  for (const Json& launch : definition.at("launches")) {
    std::list<std::uint64_t> values;  // an address, or the bits of a number
    std::vector<void*> arguments;
    for (const Json& argument : launch.at("arguments"))
      arguments.push_back(&values.emplace_back(argument.contains("buffer")
                                                   ? memory.at(argument["buffer"])
                                                   : argument.at("bits").get<std::uint64_t>()));
    const char* name = nullptr;
    CUfunction kernel;
    CHECK(nvrtcGetLoweredName(nvrtc, launch.at("kernel").get<std::string>().c_str(), &name));
    CHECK(cuModuleGetFunction(&kernel, module, name));
    const int shared = launch.at("dynamic_shared_bytes");
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared));
    const std::vector<int> grid = launch.at("grid"), block = launch.at("block");
    CHECK(cuLaunchKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, nullptr,
                         arguments.data(), nullptr));
  }
  for (const Json& buffer : definition.at("buffers")) {
    float first = 0;
    if (buffer.at("role") != "out" || buffer.at("type") != "f32") continue;
    CHECK(cuMemcpyDtoH(&first, memory.at(buffer.at("name")), sizeof first));
    std::printf("%s[0] = %g\n", buffer.at("name").get<std::string>().c_str(), first);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "use_best: %s\n", error.what());
  return 1;
}
