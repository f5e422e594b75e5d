/** An entry that search finds. */
export interface SearchEntry {
  /** Its address, relative to the root of the site. */
  href: string;
  title: string;
  /** The title of the page or part that the entry belongs to. */
  section: string;
  /** Plain text. */
  text: string;
  /** Other words with which people look for the entry. */
  keywords?: string;
  /** Ranks the entry, and offers it before anything is typed. */
  kind?: 'operation' | 'guide';
}
