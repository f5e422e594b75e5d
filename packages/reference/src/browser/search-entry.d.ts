/** An entry that search finds. */
export interface SearchEntry {
  /** Its address, relative to the root of the site. */
  href: string;
  title: string;
  /** The title of what it belongs to. */
  section: string;
  /** Plain text. */
  text: string;
  /** Other words that people use for it. */
  keywords?: string;
  /** What comes first, and what is offered before anything is typed. */
  kind?: 'operation' | 'guide';
}
