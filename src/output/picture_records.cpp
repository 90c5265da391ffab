#include <utility>

#include "mha/core/error.hpp"
#include "output/html.hpp"
#include "output/picture_files.hpp"
#include "output/record_maps.hpp"
#include "output/records.hpp"

namespace mha {
namespace {

using Draw = std::string (*)(const AttentionMaps& maps, const InputFacts& facts);

/// One input drawn as one file.
class PictureFormatter : public RecordFormatter {
 public:
  PictureFormatter(RecordSchema schema, std::string model, Draw draw)
      : schema_(std::move(schema)), model_(std::move(model)), draw_(draw) {}

  void render(const Record& record, std::string& out) const override {
    out += draw_(shown_maps(record, schema_),
                 {record.input.text, record.input.text_pair, model_, map_notes(record, schema_)});
  }

  void join(const Record& record, OutputStream& out) override {
    if (std::exchange(drawn_, true))
      throw_usage(Parameter{"format"}, "expected one input for a page or picture, got more; choose one");
    out.write(record.rendered);
  }

 private:
  RecordSchema schema_;
  std::string model_;
  Draw draw_;
  bool drawn_ = false;
};

}  // namespace

std::unique_ptr<RecordFormatter> html_formatter(RecordSchema schema, std::string model) {
  return std::make_unique<PictureFormatter>(std::move(schema), std::move(model), attention_html);
}

std::unique_ptr<RecordFormatter> svg_formatter(RecordSchema schema, std::string model) {
  return std::make_unique<PictureFormatter>(std::move(schema), std::move(model), attention_svg);
}

std::unique_ptr<RecordFormatter> png_formatter(RecordSchema schema, std::string model) {
  return std::make_unique<PictureFormatter>(std::move(schema), std::move(model), attention_png);
}

}  // namespace mha
