#pragma once
// Where a run keeps its files: public/ may be shown to anyone, trusted/ (mode 0700) to nobody.
#include <filesystem>

namespace rldp::eval {

struct run_directory {
    std::filesystem::path root;

    std::filesystem::path public_side() const { return root / "public"; }
    std::filesystem::path config() const { return public_side() / "config.json"; }
    std::filesystem::path ledger() const { return public_side() / "ledger.jsonl"; }
    std::filesystem::path metrics() const { return public_side() / "metrics.jsonl"; }
    std::filesystem::path tensorboard() const { return public_side() / "tensorboard"; }  ///< where it is asked for
    std::filesystem::path summary() const { return public_side() / "summary.json"; }
    std::filesystem::path report() const { return public_side() / "report.html"; }
    std::filesystem::path certificate() const { return public_side() / "certificate.json"; }
    std::filesystem::path certificate_page() const { return public_side() / "certificate.html"; }
    std::filesystem::path adapter() const { return public_side() / "adapter"; }

    std::filesystem::path trusted_side() const { return root / "trusted"; }
    std::filesystem::path key() const { return trusted_side() / "run.key"; }
    std::filesystem::path releases() const { return trusted_side() / "releases.log"; }
    std::filesystem::path checkpoint() const { return trusted_side() / "checkpoint.safetensors"; }
    /// What public records taught the model before the first step; only where there are any.
    std::filesystem::path lessons() const { return trusted_side() / "lessons.safetensors"; }
    std::filesystem::path corpus() const { return trusted_side() / "corpus"; }  ///< the records as tokens, sealed
    std::filesystem::path membership() const { return trusted_side() / "membership.json"; }
    std::filesystem::path trace() const { return trusted_side() / "trace.safetensors"; }
    std::filesystem::path audit() const { return trusted_side() / "audit"; }
    std::filesystem::path audit_json() const { return audit() / "audit.json"; }
    std::filesystem::path audit_text() const { return audit() / "audit.txt"; }
    std::filesystem::path audit_page() const { return audit() / "audit.html"; }
    std::filesystem::path shadows() const { return trusted_side() / "shadows"; }
    std::filesystem::path log() const { return trusted_side() / "trusted.log"; }
};

}  // namespace rldp::eval
