import { API_KEY_CHANGED_CHANNEL, type ApiKeyId, ORDER_EVENTS_CHANNEL } from '@petstore/domain';
import { connectRedis } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';

export interface AnnouncementHandlers {
  /** Called when a key was changed anywhere. */
  readonly onKeyChanged: (id: ApiKeyId) => void;
  /** Called when events were recorded anywhere. */
  readonly onEvents: () => void;
}

/**
 * Notifications between processes by Redis. Nothing depends on them: changes missed while Redis is away are found
 * within seconds all the same.
 *
 * @param target `undefined` where there is no Redis: then only this process is notified
 * @returns announces that events were recorded
 */
export function openAnnouncements(
  target: RedisTarget | undefined,
  { onKeyChanged, onEvents }: AnnouncementHandlers,
  resources: AsyncDisposableStack,
): () => void {
  if (target === undefined) return onEvents;
  // A connection that has subscribed can do nothing else.
  const [subscriber, publisher] = [connectRedis(target), connectRedis(target)];
  resources.defer(() => {
    subscriber.disconnect();
    publisher.disconnect();
  });
  subscriber.on('ready', () => {
    // Each by itself: a user of Redis may be allowed only one of them. A lost connection subscribes when it is back.
    for (const channel of [API_KEY_CHANGED_CHANNEL, ORDER_EVENTS_CHANNEL])
      subscriber.subscribe(channel).catch(() => {});
  });
  subscriber.on('message', (channel: string, text: string) => {
    if (channel === API_KEY_CHANGED_CHANNEL)
      onKeyChanged(text as ApiKeyId); // what the channel carries
    else onEvents();
  });
  return () => {
    onEvents();
    publisher.publish(ORDER_EVENTS_CHANNEL, '').catch(() => {}); // other processes poll
  };
}
