import type { Guides } from '../guides/load-guides.ts';
import type { Assets } from './assets.ts';
import type { DescribedInterface } from './interface-operations.ts';

/** What pages are made of. */
export interface Site {
  readonly assets: Assets;
  readonly guides: Guides;
  readonly about: DescribedInterface;
}
