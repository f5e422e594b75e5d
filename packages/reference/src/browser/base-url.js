// Replaces the example address in the guides' commands by that of this installation, so that they can be pasted.

const EXAMPLES = /http:\/\/127\.0\.0\.1:3000|https:\/\/petstore\.example\.com/g;
const root = new URL(document.querySelector('main')?.dataset['root'] ?? '/', location.href).href.replace(/\/$/, '');

for (const code of document.querySelectorAll('main pre code')) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.nodeValue !== null) text.nodeValue = text.nodeValue.replace(EXAMPLES, root);
  }
}
