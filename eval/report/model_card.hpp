#pragma once
// README.md beside an adapter: a model card with Hugging Face's metadata, so that the directory can be handed on alone.
#include <optional>
#include <string>

#include "privacy/spending/certificate.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {

/// What the summary does not say.
struct card_facts {
    privacy::contract promised;
    std::string ledger_head = {};             ///< hash of the ledger's last line, which the certificate names, too
    std::string weights_digest = {};          ///< SHA-256 of the adapter's file; empty of a whole model
    std::optional<std::string> license = {};  ///< of the base, as its own card names it
    bool is_whole = false;                    ///< a whole model in place of an adapter
};

/// The `license` that a model's README.md names in its metadata; nothing where there is none that is one word.
std::optional<std::string> read_license(const std::filesystem::path& model);

/// Markdown. Everything in it is public.
std::string model_card(const run_summary& run, const card_facts& facts);

/// Writes it beside the adapter, or the model, of a run whose summary is made. `model`: the base's directory. Errors:
/// as write_file.
void write_model_card(const run_directory& where, const run_summary& run, const std::filesystem::path& model);

}  // namespace rldp::eval
