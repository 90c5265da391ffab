#include "cli/commands/all.hpp"
#include "cli/completion.hpp"
#include "io/output_stream.hpp"

namespace mha::cli {

const Command kComplete{
    .name = "complete",
    .summary = "what may follow on a command line",
    .arguments = "-- WORD…",
    .about = "Prints what may stand in place of the last WORD. The completion scripts of the shells call it.",
    .hidden = true,
    .run =
        [](const Options& options, Log&) {
          OutputStream out("-");
          out.write(completions(options.input.texts));
          out.commit();
          return 0;
        },
};

}  // namespace mha::cli
