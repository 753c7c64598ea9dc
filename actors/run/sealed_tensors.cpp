#include "actors/run/sealed_tensors.hpp"

#include <ATen/ATen.h>

#include <utility>

#include "config/base/error.hpp"
#include "models/checkpoint/safetensors.hpp"

namespace rldp::actors {

namespace {

const std::string sealed = "seal";  // metadata key

/// Over all texts but the seal itself, and all tensors: contiguous, on the CPU.
std::string compute_seal(const sealed_tensors& value, const std::string& kind, const privacy::file_seal& seal) {
    privacy::file_seal::stream out(seal, kind);
    for (const auto& [key, text] : value.texts)
        if (key != sealed) out.add(key).add(text);
    for (const auto& [name, tensor] : value.tensors) {
        out.add(name).add(at::toString(tensor.scalar_type()));
        for (const auto size : tensor.sizes()) out.add(std::to_string(size));
        out.add({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
    }
    return out.hex();
}

}  // namespace

void write_sealed(const std::filesystem::path& path, const std::string& kind, sealed_tensors value,
                  const privacy::file_seal& seal) {
    for (auto& [name, tensor] : value.tensors) tensor = tensor.detach().cpu().contiguous();
    value.texts[sealed] = compute_seal(value, kind, seal);
    models::save_safetensors(path, value.tensors, value.texts);
}

sealed_tensors read_sealed(const std::filesystem::path& path, const std::string& kind, const privacy::file_seal& seal) {
    const models::safetensors_file file(path);
    sealed_tensors out{{}, file.metadata()};
    for (const auto& name : file.names()) out.tensors[name] = file.tensor(name).clone();
    const auto found = out.texts.find(sealed);
    if (found == out.texts.end() || found->second != compute_seal(out, kind, seal))
        refuse(path.string() +
               ": is not as this run wrote it: damaged, edited, or another run's; bring back the run's own");
    out.texts.erase(sealed);
    return out;
}

}  // namespace rldp::actors
