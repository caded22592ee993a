// The copy button of a transcript copies what a reader would type: the lines after "$ ", and their
// continuations after "> ", without the prompts and without the output.
for (const code of document.querySelectorAll(".language-console code")) {
  const commands = []
  let typing = false
  for (const line of code.textContent.split("\n")) {
    typing = line.startsWith("$ ") || (typing && line.startsWith("> "))
    if (typing) commands.push(line.slice(2))
  }
  code.closest("pre").dataset.copy = commands.join("\n")
}
