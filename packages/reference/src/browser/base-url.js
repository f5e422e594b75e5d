// The page names the address that the operator has set. Where it is read at another one, that is put in its place, so
// that commands can be pasted.

const { root = '/', renderedFor = '' } = document.documentElement.dataset;
const here = new URL(root, location.href).href.replace(/\/$/, '');

for (const code of here === renderedFor ? [] : document.querySelectorAll('main :is(pre code, [data-installed])')) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.nodeValue !== null) text.nodeValue = text.nodeValue.replaceAll(renderedFor, here);
  }
}
