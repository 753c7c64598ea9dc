#include "actors/run/checkpoint.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "config/base/error.hpp"
#include "models/checkpoint/safetensors.hpp"

namespace rldp::actors {

namespace {

const std::string method_prefix = "method.";  // of its tensors' names
const std::string sealed = "seal";            // metadata key

using tensors_by_name = std::map<std::string, at::Tensor>;
using texts_by_key = std::map<std::string, std::string>;

/// Over all texts but the seal itself, and all tensors: contiguous, on the CPU.
std::string seal_of(const tensors_by_name& tensors, const texts_by_key& texts, const privacy::file_seal& seal) {
    privacy::file_seal::stream out(seal, "checkpoint");
    for (const auto& [key, text] : texts)
        if (key != sealed) out.add(key).add(text);
    for (const auto& [name, tensor] : tensors) {
        out.add(name).add(at::toString(tensor.scalar_type()));
        for (const auto size : tensor.sizes()) out.add(std::to_string(size));
        out.add({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
    }
    return out.hex();
}

void check_sealed(const models::safetensors_file& file, const std::filesystem::path& path,
                  const privacy::file_seal& seal) {
    tensors_by_name tensors;
    for (const auto& name : file.names()) tensors[name] = file.tensor(name);
    const auto found = file.metadata().find(sealed);
    if (found == file.metadata().end() || found->second != seal_of(tensors, file.metadata(), seal))
        refuse(path.string() +
               ": is not as this run wrote it: damaged, edited, or another run's; bring back the run's own");
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const checkpoint& value, const privacy::file_seal& seal) {
    const auto& [optimizer, method, trace, rest] = value.training;
    auto controller = at::empty({static_cast<std::int64_t>(value.controller.size())}, at::kByte);
    std::copy(value.controller.begin(), value.controller.end(), controller.data_ptr<std::uint8_t>());
    tensors_by_name tensors = {{"adapter", optimizer.parameters},
                               {"first_moment", optimizer.first},
                               {"second_moment", optimizer.second},
                               {"controller", controller}};
    if (trace.defined()) tensors["trace"] = trace;
    for (const auto& [name, tensor] : method.tensors) tensors[method_prefix + name] = tensor;
    for (auto& [name, tensor] : tensors) tensor = tensor.detach().cpu().contiguous();
    texts_by_key texts = {{"method", method.numbers},
                          {"optimizer_steps", std::to_string(optimizer.steps)},
                          {"training", rest},
                          {"charges", std::to_string(value.charged.seq)},
                          {"last_charge", value.charged.hash},
                          {"belongs_to", value.belongs_to}};
    texts[sealed] = seal_of(tensors, texts, seal);
    models::save_safetensors(path, tensors, texts);
}

checkpoint read_checkpoint(const std::filesystem::path& path, const privacy::file_seal& seal) {
    const models::safetensors_file file(path);
    check_sealed(file, path, seal);
    const auto text = [&](const std::string& key) {
        const auto found = file.metadata().find(key);
        if (found == file.metadata().end())
            refuse(path.string() + ": metadata '" + key + "' is missing; not a checkpoint of RLDP");
        return found->second;
    };
    checkpoint out;
    out.training.optimizer = {.parameters = file.tensor("adapter").clone(),
                              .first = file.tensor("first_moment").clone(),
                              .second = file.tensor("second_moment").clone()};
    const auto whole = [&](const std::string& key, auto& value) {
        const auto digits = text(key);
        const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (wrong != std::errc{} || end != digits.data() + digits.size())
            refuse(path.string() + ": metadata '" + key + "' is no whole number; the checkpoint is damaged");
    };
    whole("optimizer_steps", out.training.optimizer.steps);
    whole("charges", out.charged.seq);
    out.charged.hash = text("last_charge");
    out.training.rest = text("training");
    out.training.method.numbers = text("method");
    for (const auto& name : file.names()) {
        if (name == "trace") out.training.trace = file.tensor(name).clone();
        if (name.starts_with(method_prefix))
            out.training.method.tensors.emplace_back(name.substr(method_prefix.size()), file.tensor(name).clone());
    }
    const auto controller = file.tensor("controller").contiguous();
    out.controller.assign(static_cast<const char*>(controller.data_ptr()),
                          static_cast<std::size_t>(controller.numel()));
    out.belongs_to = text("belongs_to");
    return out;
}

}  // namespace rldp::actors
