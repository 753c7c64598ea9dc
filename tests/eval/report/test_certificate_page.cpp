#include "eval/report/certificate.hpp"

#include "tests/catch.hpp"
#include "tests/eval/report/fake_finished_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

privacy::certificate made_from(const std::vector<std::string>& set = {}) {
    const auto config = small_config(set);
    privacy::certificate out;
    out.promised = privacy::make_contract(make_header(config, *make_spending_policy(config)));
    out.promised.expected_batch_size = 64;
    out.program = "1.2.3";
    return out;
}

}  // namespace

TEST_CASE("the certificate's page says what, for whom, how strongly, what is outside, and how to check") {
    const scratch_directory dir;
    auto made = made_from();
    const auto key = privacy::signing_key::create(dir / "owner");
    made.signer = key.public_half();
    const auto page = eval::certificate_page(made);
    for (const char* part : {"What is protected", "For whom", "each record", "How strongly", "1 to 1",
                             "1 to 10\u202f000", "88 %", "What is outside", "Running time", "How to check it",
                             "rldp verify DIRECTORY --key OWNER.pub", "signed by key"})
        CHECK(has(page, part));
    CHECK(has(page, key.public_half().fingerprint()));
    CHECK_FALSE(has(page, "nsigned:"));
    CHECK_FALSE(has(page, "NO GUARANTEE"));
    CHECK_FALSE(has(page, "Held-out perplexity"));
    CHECK_FALSE(has(page, "<script"));
}

TEST_CASE("the certificate's page names the group, the padding and the split") {
    auto made = made_from({"privacy.unit={\"group\": \"<b>patient\"}", "data.split=exact", "eval.publish=raw"});
    made.promised.max_records_per_unit = 16;
    auto page = eval::certificate_page(made);
    CHECK(has(page, "&lt;b&gt;patient"));
    CHECK_FALSE(has(page, "<b>patient"));
    CHECK(has(page, "at most 16"));
    CHECK(has(page, "The split into training"));
    CHECK(has(page, "Held-out perplexity"));
    made.promised.pad_batches = true;
    CHECK_FALSE(has(eval::certificate_page(made), "Running time"));
}

TEST_CASE("the certificate's page is the same whatever the files hold") {
    auto one = made_from(), two = made_from();
    two.files = {{"adapter/adapter_model.safetensors", "another"}};
    two.ledger_head = "another";
    CHECK(eval::certificate_page(one) == eval::certificate_page(two));
}
