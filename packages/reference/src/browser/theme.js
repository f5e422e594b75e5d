// Runs before the page is drawn, so that a dark page never flashes white. The storage key and the classes are those of
// Scalar's bundle, so that one choice applies to all pages.

const KEY = 'colorMode';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

const isDark = () => {
  const chosen = localStorage.getItem(KEY);
  return chosen === 'dark' || (chosen !== 'light' && systemIsDark.matches);
};

function applyColorMode() {
  const dark = isDark();
  document.body.classList.toggle('dark-mode', dark);
  document.body.classList.toggle('light-mode', !dark);
  document.getElementById('color-mode')?.setAttribute('aria-pressed', String(dark));
}

applyColorMode();
// On a phone the links of the header scroll.
document.querySelector('.site-header [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
// Deferred, to run after the bundle's own listener, which ignores a choice made in the header.
systemIsDark.addEventListener('change', () => setTimeout(applyColorMode));
document.getElementById('color-mode')?.addEventListener('click', () => {
  localStorage.setItem(KEY, isDark() ? 'light' : 'dark');
  applyColorMode();
});
