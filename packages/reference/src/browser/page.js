// The functions of all pages, except for the console and search: the installation's address, copy buttons, and one language
// for all samples.

// The page contains the address that the operator has set. If the page is read at another address, that one replaces it:
// commands can then be pasted.
const { renderedFor = '' } = document.documentElement.dataset;
const here = document.baseURI.replace(/\/$/, '');
for (const code of here === renderedFor ? [] : document.querySelectorAll('main code')) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.nodeValue !== null) text.nodeValue = text.nodeValue.replaceAll(renderedFor, here);
  }
}

for (const block of document.querySelectorAll('main .code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(commandsIn(block.querySelector('pre')?.textContent ?? ''));
      button.textContent = 'Copied';
    } catch {
      getSelection()?.selectAllChildren(block); // without https there is no clipboard
      button.textContent = 'Press Ctrl C';
    }
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  block.append(button);
}

/** The commands in a block that also shows their output. @param {string} text */
function commandsIn(text) {
  if (!text.startsWith('$ ')) return text.trimEnd();
  const commands = text.match(/^\$ (?:.*\\\n)*.*$/gm) ?? [];
  return commands.map((command) => command.slice(2)).join('\n');
}

/** @type {NodeListOf<HTMLInputElement>} */
const choices = document.querySelectorAll('.samples input[type=radio]');
for (const chosen of choices) {
  chosen.addEventListener('change', () => {
    for (const choice of choices) choice.checked = choice.value === chosen.value;
  });
}
