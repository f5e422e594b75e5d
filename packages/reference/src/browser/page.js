// What pages gain by scripts, the console and search aside: copy buttons, one language for all samples, older links.

const LANGUAGE_KEY = 'sampleLanguage';

for (const block of document.querySelectorAll('main .code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', () => void copy(block, button));
  block.append(button);
}

/** @param {Element} block @param {HTMLButtonElement} button */
async function copy(block, button) {
  // The one that is shown, of samples in several languages.
  const shown = Array.from(block.querySelectorAll('pre')).find((pre) => pre.checkVisibility());
  const text = shown?.textContent ?? '';
  try {
    await navigator.clipboard.writeText(withoutOutput(text));
    button.textContent = 'Copied';
  } catch {
    if (shown !== undefined) getSelection()?.selectAllChildren(shown); // without https there is no clipboard
    button.textContent = 'Press Ctrl C';
  }
  setTimeout(() => (button.textContent = 'Copy'), 2000);
}

/** The commands alone, of a block that shows them with their output. @param {string} text */
function withoutOutput(text) {
  if (!text.startsWith('$ ')) return text.trimEnd();
  const lines = text.split('\n');
  const isCommand = lines.map(() => false);
  for (const [index, line] of lines.entries()) {
    isCommand[index] =
      line.startsWith('$ ') || (isCommand[index - 1] === true && lines[index - 1]?.endsWith('\\') === true);
  }
  const commands = lines.filter((_, index) => isCommand[index]);
  return commands.map((line) => line.replace(/^\$ /, '')).join('\n');
}

/** @type {NodeListOf<HTMLInputElement>} */
const choices = document.querySelectorAll('.samples input[type=radio]');

/** @param {string} language */
function chooseLanguage(language) {
  for (const choice of choices) if (choice.value === language) choice.checked = true;
}

for (const choice of choices) {
  choice.addEventListener('change', () => {
    chooseLanguage(choice.value);
    try {
      localStorage.setItem(LANGUAGE_KEY, choice.value);
    } catch {} // where pages may store nothing
  });
}
try {
  chooseLanguage(localStorage.getItem(LANGUAGE_KEY) ?? '');
} catch {}

/** Anchors had other names in the past: `#tag/orders/cancelOrder`, `#models/Order`. */
function followOlderLink() {
  const [, name] = /^#(?:tag\/[^/]+|models)\/(\w+)$/.exec(location.hash) ?? [];
  if (name !== undefined) location.replace(`#${name}`);
}
addEventListener('hashchange', followOlderLink);
followOlderLink();
