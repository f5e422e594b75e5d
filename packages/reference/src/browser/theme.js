// Runs before the page is drawn, so that a dark page never flashes white. The key and the classes are those that the
// reference's own bundle uses: one choice holds on every page.

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
// On a phone the entries of the header scroll.
document.querySelector('.site-header [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
systemIsDark.addEventListener('change', () => setTimeout(applyColorMode)); // after the bundle, which knows no choice made here
document.getElementById('color-mode')?.addEventListener('click', () => {
  localStorage.setItem(KEY, isDark() ? 'light' : 'dark');
  applyColorMode();
});
