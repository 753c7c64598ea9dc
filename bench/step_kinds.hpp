#pragma once
// The kinds of step that bench_step compares, on one batch of random tokens.
#include <map>
#include <string>
#include <vector>

#include "models/adamw.hpp"
#include "models/causal_lm.hpp"
#include "privacy/mechanism/sanitizer.hpp"

namespace rldp::bench {

struct step_shape {
    std::string model;  ///< gpt2-small | llama-3.2-1b | stories260k: shapes with random weights
    std::int64_t batch = 4, length = 128;
    std::string dtype = "float32";  ///< a precision's name
    std::string quantize = "none";  ///< a quantization's name
    std::string device = "cpu";
    double dropout = 0;
    int threads = 2;
    std::int64_t bands = 1;  ///< of the noise
    std::vector<std::string> targets = {"q", "v"};
};

/// Errors: bad_input for a name that is not known.
models::model_config make_shape(const std::string& model);

/// A model of that shape, from a seed.
std::map<std::string, at::Tensor> make_random_weights(const models::model_config& config,
                                                      const at::TensorOptions& options);

class step_kinds {
  public:
    explicit step_kinds(const step_shape& shape);

    void forward() const;  ///< the losses, no gradient
    /// Gradient of the summed loss, by the code that makes the private ones, then AdamW.
    void ordinary();
    /// The same by autograd alone, as a plain LoRA program does it.
    void autograd();
    /// Per-unit gradients, clip, noise, AdamW.
    void private_step();

    /// Milliseconds of the private step's parts, of one step.
    std::map<std::string, double> private_parts();

  private:
    models::dropout_source keyed_dropout();           ///< as a run draws it
    models::dropout_source ordinary_dropout() const;  ///< as torch draws it
    void begin();

    step_shape shape_;
    at::TensorOptions options_;
    std::shared_ptr<const models::causal_lm> model_;
    models::lora_layout layout_;
    models::token_batch batch_;
    models::adamw optimizer_;
    privacy::run_key key_ = privacy::run_key::from_system();
    privacy::sanitizer sanitizer_;
    std::uint64_t seq_ = 0;
};

}  // namespace rldp::bench
