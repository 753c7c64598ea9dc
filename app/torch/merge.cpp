// rldp merge: base and adapter as one plain checkpoint.
#include "models/full_checkpoint.hpp"

#include "base/output.hpp"
#include "models/device.hpp"
#include "models/weights.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/commands.hpp"

namespace rldp::app {

namespace {

struct merge_arguments {
    std::string model, adapter, out, dtype;
};

int merge(const merge_arguments& given) {
    models::reserve_blas_memory(models::default_threads());
    if (const auto doubt = models::find_warning(models::read_model(given.model), given.model))
        say(stderr, "warning: {}\n", *doubt);
    std::optional<at::ScalarType> dtype;
    if (!given.dtype.empty()) dtype = models::use_precision(parse_named<precision>(given.dtype), at::kCPU);
    models::merge(given.model, given.adapter, given.out, dtype);
    say("{}: {} with {} merged\n", given.out, given.model, given.adapter);
    return 0;
}

}  // namespace

void add_merge(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "merge");
    auto given = std::make_shared<merge_arguments>();
    command->add_option("model", given->model, "Hugging Face directory of the base")->required();
    command->add_option("--adapter", given->adapter, "PEFT directory, such as a run's public/adapter")->required();
    command->add_option("--out", given->out, "directory to make")->required();
    command
        ->add_option("--dtype", given->dtype,
                     "float32 or bfloat16, whatever the base is stored in; what is merged is rounded to it, and a "
                     "quantized base grows")
        ->check(CLI::IsMember({"float32", "bfloat16"}));
    command->footer("Example: rldp merge config/tiny-gpt2 --adapter runs/first/public/adapter --out models/first");
    command->callback([given, &chosen] { chosen = [given] { return merge(*given); }; });
}

}  // namespace rldp::app
