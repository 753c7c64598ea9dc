// tokenizer.model, through libsentencepiece.
#include <sentencepiece_processor.h>

#include "models/tokenizer_pipeline.hpp"
#include "models/tokenizer_reader.hpp"
#include "models/tokenizer_text.hpp"

namespace rldp::models {

namespace {

class sentencepiece_tokenizer : public tokenizer {
  public:
    explicit sentencepiece_tokenizer(const std::filesystem::path& directory) {
        const auto file = directory / "tokenizer.model";
        const auto status = model_.LoadFromSerializedProto(read_file(file));
        if (!status.ok()) refuse(file.string() + ": not a sentencepiece model: " + status.ToString());
        bool bos = true;  // as LlamaTokenizer, unless its configuration says otherwise
        bool eos = false;
        if (const auto settings = directory / "tokenizer_config.json"; std::filesystem::exists(settings)) {
            const auto json = read_json(settings);
            const json_at root(json, settings.string());
            bos = root.flag("add_bos_token", bos);
            eos = root.flag("add_eos_token", eos);
        }
        if (bos && model_.bos_id() >= 0) prefix_.push_back(model_.bos_id());
        if (eos && model_.eos_id() >= 0) suffix_.push_back(model_.eos_id());
    }

    std::vector<std::int32_t> encode(std::string_view text) const override {
        std::vector<int> ids;
        if (const auto status = model_.Encode(to_utf8(text), &ids); !status.ok())
            throw error(errc::failed, "sentencepiece can't encode a text: " + status.ToString());
        std::vector<std::int32_t> out = prefix_;
        out.insert(out.end(), ids.begin(), ids.end());
        out.insert(out.end(), suffix_.begin(), suffix_.end());
        return out;
    }

    std::string decode(const std::vector<std::int32_t>& ids) const override {
        std::vector<int> kept;
        for (const auto id : ids) {
            if (id < 0 || id >= size())
                refuse("token id " + std::to_string(id) + ": the vocabulary has ids from 0 to " +
                       std::to_string(size() - 1));
            if (!model_.IsControl(id) && !model_.IsUnknown(id)) kept.push_back(id);
        }
        std::string text;
        if (const auto status = model_.Decode(kept, &text); !status.ok())
            throw error(errc::failed, "sentencepiece can't decode: " + status.ToString());
        return text;
    }

    std::int64_t size() const override { return model_.GetPieceSize(); }

  private:
    sentencepiece::SentencePieceProcessor model_;
    std::vector<std::int32_t> prefix_, suffix_;
};

}  // namespace

std::unique_ptr<const tokenizer> load_sentencepiece(const std::filesystem::path& directory) {
    return std::make_unique<sentencepiece_tokenizer>(directory);
}

}  // namespace rldp::models
