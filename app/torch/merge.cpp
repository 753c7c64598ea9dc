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
    std::string model, adapter, out;
};

int merge(const merge_arguments& given) {
    models::reserve_blas_memory(models::default_threads());
    if (const auto doubt = models::find_warning(models::read_model(given.model), given.model))
        say(stderr, "warning: {}\n", *doubt);
    models::merge(given.model, given.adapter, given.out);
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
    command->footer("Example: rldp merge config/tiny-gpt2 --adapter runs/first/public/adapter --out models/first");
    command->callback([given, &chosen] { chosen = [given] { return merge(*given); }; });
}

}  // namespace rldp::app
