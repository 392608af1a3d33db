//! The handlers: each turns its request into a command or refuses its form, calls one use case, and says the result.

use reversi_proto::{server::GameService, to_wire, v1};
use tonic::{Request, Response, Status};

use super::{
    page_token::GamesToken,
    status::status,
    validate,
    watch::{WatchStream, deadline_of},
};
use crate::{
    error::Error,
    events::{WatchGame, Watches},
    service::{Changed, Service},
    wire,
};

/// The contract's service.
pub struct Games {
    service: Service,
    watches: Watches,
}

impl Games {
    /// Speaks for `service` and `watches`.
    pub fn new(service: Service, watches: Watches) -> Self {
        Self { service, watches }
    }
}

type Answer<T> = Result<Response<T>, Status>;

fn answer<T>(result: Result<T, Error>) -> Answer<T> {
    result.map(Response::new).map_err(status)
}

fn event(changed: &Changed) -> Option<v1::GameEvent> {
    Some(wire::event(&changed.event))
}

#[tonic::async_trait]
impl GameService for Games {
    async fn create_game(
        &self,
        request: Request<v1::CreateGameRequest>,
    ) -> Answer<v1::CreateGameResponse> {
        let deadline = deadline_of(&request);
        let command = validate::create_game(request.into_inner()).map_err(status)?;
        answer(self.service.create(command, deadline).await.map(|created| {
            v1::CreateGameResponse {
                game: Some(wire::game(&created.game)),
                seat_tokens: created
                    .seat_tokens
                    .into_iter()
                    .map(|(color, token)| v1::SeatToken {
                        color: to_wire::color(color),
                        seat_token: token.into_text(),
                    })
                    .collect(),
                owner_token: created.owner_token.into_text(),
            }
        }))
    }

    async fn join_game(
        &self,
        request: Request<v1::JoinGameRequest>,
    ) -> Answer<v1::JoinGameResponse> {
        let deadline = deadline_of(&request);
        let command = validate::join_game(request.into_inner()).map_err(status)?;
        answer(self.service.change(command, deadline).await.and_then(|changed| {
            let (color, token) = changed
                .seat
                .ok_or_else(|| Error::Internal("a claim was answered without a seat".into()))?;
            Ok(v1::JoinGameResponse {
                game: Some(wire::game(&changed.game)),
                color: to_wire::color(color),
                seat_token: token.into_text(),
            })
        }))
    }

    async fn get_game(&self, request: Request<v1::GetGameRequest>) -> Answer<v1::GetGameResponse> {
        let deadline = deadline_of(&request);
        let id = validate::game_id(&request.into_inner().game_id).map_err(status)?;
        let game = self.service.get(&id, deadline).await;
        answer(game.map(|game| v1::GetGameResponse { game: Some(wire::game(&game)) }))
    }

    async fn list_games(
        &self,
        request: Request<v1::ListGamesRequest>,
    ) -> Answer<v1::ListGamesResponse> {
        let deadline = deadline_of(&request);
        let query = validate::list_games(request.into_inner()).map_err(status)?;
        answer(self.service.list(&query, deadline).await.map(|listing| v1::ListGamesResponse {
            games: listing.games.iter().map(wire::listed_game).collect(),
            next_page_token:
                listing.next.map(|after| GamesToken::write(&query, &after)).unwrap_or_default(),
        }))
    }

    async fn make_move(
        &self,
        request: Request<v1::MakeMoveRequest>,
    ) -> Answer<v1::MakeMoveResponse> {
        let deadline = deadline_of(&request);
        let command = validate::make_move(request.into_inner()).map_err(status)?;
        let changed = self.service.change(command, deadline).await;
        answer(changed.map(|changed| v1::MakeMoveResponse { event: event(&changed) }))
    }

    async fn resign_game(
        &self,
        request: Request<v1::ResignGameRequest>,
    ) -> Answer<v1::ResignGameResponse> {
        let deadline = deadline_of(&request);
        let command = validate::resign_game(request.into_inner()).map_err(status)?;
        let changed = self.service.change(command, deadline).await;
        answer(changed.map(|changed| v1::ResignGameResponse { event: event(&changed) }))
    }

    async fn abort_game(
        &self,
        request: Request<v1::AbortGameRequest>,
    ) -> Answer<v1::AbortGameResponse> {
        let deadline = deadline_of(&request);
        let command = validate::abort_game(request.into_inner()).map_err(status)?;
        let changed = self.service.change(command, deadline).await;
        answer(changed.map(|changed| v1::AbortGameResponse { event: event(&changed) }))
    }

    async fn delete_game(
        &self,
        request: Request<v1::DeleteGameRequest>,
    ) -> Answer<v1::DeleteGameResponse> {
        let deadline = deadline_of(&request);
        let (id, token) = validate::delete_game(request.into_inner()).map_err(status)?;
        let deleted = self.service.delete(id, token, deadline).await;
        answer(deleted.map(|()| v1::DeleteGameResponse {}))
    }

    type WatchGameStream = WatchStream;

    async fn watch_game(&self, request: Request<v1::WatchGameRequest>) -> Answer<WatchStream> {
        let deadline = deadline_of(&request);
        let request = request.into_inner();
        let command = WatchGame {
            game_id: validate::game_id(&request.game_id).map_err(status)?,
            resume_after: request.resume_after.map(validate::version),
            latest_only: request.latest_only,
            deadline,
        };
        answer(self.watches.open(command).await.map(WatchStream::new))
    }

    async fn list_game_events(
        &self,
        request: Request<v1::ListGameEventsRequest>,
    ) -> Answer<v1::ListGameEventsResponse> {
        let deadline = deadline_of(&request);
        let (id, token, limit) =
            validate::list_game_events(request.into_inner()).map_err(status)?;
        let page = self.service.events(&id, token.after(), limit, deadline).await;
        answer(page.map(|page| {
            let last = page.events.last().filter(|_| page.more);
            v1::ListGameEventsResponse {
                next_page_token: last
                    .map(|last| token.write(last.version.revision))
                    .unwrap_or_default(),
                events: page.events.iter().map(wire::event).collect(),
            }
        }))
    }

    async fn create_layout(
        &self,
        request: Request<v1::CreateLayoutRequest>,
    ) -> Answer<v1::CreateLayoutResponse> {
        let deadline = deadline_of(&request);
        let command = validate::create_layout(request.into_inner()).map_err(status)?;
        let layout = self.service.draw_layout(command, deadline).await;
        answer(
            layout
                .map(|layout| v1::CreateLayoutResponse { layout: Some(to_wire::layout(&layout)) }),
        )
    }

    async fn get_layout(
        &self,
        request: Request<v1::GetLayoutRequest>,
    ) -> Answer<v1::GetLayoutResponse> {
        let deadline = deadline_of(&request);
        let id = validate::layout_id(&request.into_inner().layout_id).map_err(status)?;
        let layout = self.service.get_layout(&id, deadline).await;
        answer(
            layout.map(|layout| v1::GetLayoutResponse { layout: Some(to_wire::layout(&layout)) }),
        )
    }

    async fn export_game(
        &self,
        _: Request<v1::ExportGameRequest>,
    ) -> Answer<v1::ExportGameResponse> {
        Err(status(Error::Unimplemented { what: "ExportGame" }))
    }
}
