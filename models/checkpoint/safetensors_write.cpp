#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/checkpoint/safetensors_dtypes.hpp"

namespace rldp::models {

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::size_t end = 0;
    for (const auto& [name, tensor] : tensors) {
        const auto dtype = dtype_name(tensor.scalar_type());
        if (!dtype)
            throw error(errc::failed, fmt::format("{}: tensor '{}' has no safetensors dtype", path.string(), name));
        const std::size_t begin = end;
        end += tensor.nbytes();
        header[name] = {{"dtype", *dtype}, {"shape", tensor.sizes().vec()}, {"data_offsets", {begin, end}}};
    }
    std::string bytes = header.dump();
    bytes.resize((bytes.size() + 7) / 8 * 8, ' ');  // the format aligns the data to 8 bytes
    const std::uint64_t length = bytes.size();
    std::string prefix(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) prefix[i] = static_cast<char>(length >> (8 * i) & 0xff);
    bytes.insert(0, prefix);
    bytes.reserve(bytes.size() + end);
    for (const auto& [name, tensor] : tensors) {
        const at::Tensor data = tensor.detach().cpu().contiguous();
        bytes.append(static_cast<const char*>(data.data_ptr()), data.nbytes());
    }
    write_file(path, bytes);
}

}  // namespace rldp::models
