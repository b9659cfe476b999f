#include "inspect/kernels.h"

#include <nvrtc.h>

#include <stdexcept>

namespace tiletune {

namespace {

bool is_template(const std::string& expression) { return expression.find('<') != std::string::npos; }

/// The log, and the cubin when it compiled.
void read_results(nvrtcProgram program, LoggedBinary& binary) {
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  binary.log.resize(size);
  nvrtcGetProgramLog(program, binary.log.data());
  nvrtcGetCUBINSize(program, &size);
  binary.cubin.resize(size);
  nvrtcGetCUBIN(program, binary.cubin.data());
}

}  // namespace

std::vector<LoggedBinary> compile_all_for_test(const std::string& source,
                                               const std::vector<std::string>& expressions,
                                               const std::string& architecture,
                                               const std::vector<std::string>& more_options) {
  const std::string target = "--gpu-architecture=" + architecture;
  std::vector<const char*> options = {target.c_str(), "--ptxas-options=-v"};
  for (const std::string& option : more_options) options.push_back(option.c_str());
  nvrtcProgram program = nullptr;
  nvrtcCreateProgram(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  for (const std::string& expression : expressions) {
    if (is_template(expression)) nvrtcAddNameExpression(program, expression.c_str());
  }
  const nvrtcResult result = nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  LoggedBinary module;
  read_results(program, module);
  if (result != NVRTC_SUCCESS) throw std::runtime_error(module.log);
  std::vector<LoggedBinary> binaries(expressions.size(), module);
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const char* lowered = expressions[i].c_str();
    if (is_template(expressions[i])) nvrtcGetLoweredName(program, expressions[i].c_str(), &lowered);
    binaries[i].kernel_symbols = {lowered};
  }
  nvrtcDestroyProgram(&program);
  return binaries;
}

LoggedBinary compile_for_test(const std::string& source, const std::string& expression,
                              const std::string& architecture) {
  return compile_all_for_test(source, {expression}, architecture).front();
}

const std::vector<GpuModel>& gpu_models() {
  static const std::vector<GpuModel> models =
      load_gpu_models(std::filesystem::path(TILETUNE_SOURCE_DIR) / "configs" / "gpus");
  return models;
}

const GpuModel& gpu(const std::string& name) { return find_gpu_model(gpu_models(), name); }

}  // namespace tiletune
